import { ConnectorError } from '../../../lib/errors.ts';
import {
  hasField,
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { spellingOf } from '../../../lib/text/number-spelling.ts';

export interface CsvOutput {
  readonly delimiter: number;
  readonly quote: number;
}

/** Writes cells by RFC 4180; lines end with a line feed. */
export class CsvFormat {
  readonly #delimiter: string;
  readonly #quote: string;
  readonly #special: RegExp;

  constructor(output: CsvOutput) {
    this.#delimiter = String.fromCharCode(output.delimiter);
    this.#quote = String.fromCharCode(output.quote);
    this.#special = new RegExp(`[\r\n${escaped(this.#delimiter)}${escaped(this.#quote)}]`);
  }

  row(cells: readonly string[]): string {
    // A lone empty cell would be a blank line, which readers skip.
    if (cells.length === 1 && cells[0] === '') return `${this.#quote}${this.#quote}\n`;
    return `${cells.map((cell) => this.cell(cell)).join(this.#delimiter)}\n`;
  }

  cell(text: string): string {
    if (!this.#special.test(text)) return text;
    return this.#quote + text.replaceAll(this.#quote, this.#quote + this.#quote) + this.#quote;
  }
}

/** The text of a value in a cell: empty for null, text unchanged, compact JSON for the rest. */
export function cellText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : stringifyJson(value);
}

/** The cells of a record in the order of the columns. */
export function cellsOf(record: JsonObject, columns: readonly string[]): string[] {
  return columns.map((column) =>
    hasField(record, column) ? (spellingOf(record, column) ?? cellText(record[column])) : '',
  );
}

/** All keys of the records, in the order in which they first appear. */
export function columnsOf(records: readonly JsonObject[]): string[] {
  const columns = new Set<string>();
  for (const record of records) for (const key of Object.keys(record)) columns.add(key);
  return [...columns];
}

/** Throws for a record that is not an object. */
export function requireObjects(
  records: readonly JsonValue[],
  format: string,
): readonly JsonObject[] {
  const index = records.findIndex((record) => !isObject(record));
  if (index === -1) return records as readonly JsonObject[];
  throw new ConnectorError('data', `a record is not an object; ${format} needs objects`, {
    record: index,
    hint: 'wrap it with a transform, or write JSON Lines',
  });
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
