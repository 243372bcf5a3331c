import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, parseData, type JsonValue } from '../../../lib/text/json.ts';
import { exactField } from '../../../lib/text/json-literal.ts';
import type { LiveColumn } from '../../_sql/driver.ts';

/** A line of CSV as the server reads it, from the JSON of a row. */
export function csvLine(line: string, columns: readonly LiveColumn[]): string {
  const row = parseData(line);
  return columns
    .map(({ name }) => cell(name, isObject(row) && name in row ? exactField(row, name) : null))
    .join(',');
}

function cell(name: string, value: JsonValue): string {
  if (value === null) return String.raw`\N`;
  if (Array.isArray(value) || (isObject(value) && !isNumber(value)))
    throw new ConnectorError(
      'data',
      `\`${name}\` holds a list or an object, which CSV has no form for`,
      {
        hint: 'set `staging.format: jsonl`',
      },
    );
  const text = jsonText(value);
  return typeof value === 'string' ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One that is written in its own way, with all its digits. */
function isNumber(value: JsonValue): boolean {
  return /^-?\d/.test(jsonText(value));
}
