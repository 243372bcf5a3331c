/** Values as Spanner takes them. What a column cannot hold is refused here, so that the record is known. */
import { fieldOf, type RecordSchema, type RecordType } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { documentText, isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { bytesText, floatText, limitedText, wholeText } from '../../_google/column-texts.ts';
import { dateText, momentText } from '../../_google/times.ts';
import { documentOrText } from '../../_sql/document-or-text.ts';
import { booleanText, decimalText } from '../../_sql/value-texts.ts';
import type { Cell } from '../cells.ts';
import type { SpannerColumn } from './columns.ts';
import { NUMERIC_SCALE, SECOND_DIGITS } from './rounding.ts';

/** Gives `undefined` for a value that the type does not hold. Never called for null. */
type Encode = (value: JsonValue) => Cell | undefined;

const DOCUMENTS: ReadonlySet<string> = new Set(['json', 'list', 'struct', 'map']);
const NUMERIC_LIMITS = { precision: 38, scale: NUMERIC_SCALE };
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
/** Letters of a text, and bytes, at most. */
const [MOST_LETTERS, MOST_BYTES] = [2_621_440, 10_485_760];

/** Throws a `ConnectorError` for a value that the column cannot hold. */
export function encoderOf(
  column: SpannerColumn,
  schema?: RecordSchema,
): (value: JsonValue) => Cell {
  const item = itemEncoder(column, fieldOf(schema, column.name)?.type);
  const encode = column.isList ? listOf(item, column) : item;
  return (written) => {
    // A document keeps its text.
    const value = isLiteral(written) && column.base !== 'JSON' ? literalValue(written) : written;
    if (value === null) {
      if (column.nullable) return null;
      throw misfit(column, 'null');
    }
    const cell = encode(value);
    if (cell !== undefined) return cell;
    throw misfit(column, shown(value));
  };
}

const LONGEST_SHOWN = 80;

function shown(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

function misfit({ name, limits, nullable }: SpannerColumn, value: string): ConnectorError {
  return new ConnectorError(
    'data',
    `the column \`${name}\` is ${limits}${nullable ? '' : ' and not null'}, which cannot hold ${value}`,
    { hint: 'change the value with a transform, or the type of the column' },
  );
}

function itemEncoder({ base, length }: SpannerColumn, type?: RecordType): Encode {
  switch (base) {
    case 'INT64':
      return wholeText;
    case 'FLOAT64':
      return (value) => floatCell(value, Number.isFinite);
    case 'FLOAT32':
      return (value) => floatCell(value, (number) => Number.isFinite(Math.fround(number)));
    case 'BOOL':
      return (value) => {
        const text = booleanText(value);
        return text === undefined ? undefined : text === 'true';
      };
    case 'NUMERIC':
      return (value) => decimalText(value, NUMERIC_LIMITS);
    case 'BYTES':
      return (value) => bytesText(value, length ?? MOST_BYTES);
    case 'DATE':
      return dateText;
    case 'TIMESTAMP':
      return timestampText;
    case 'UUID':
      return (value) => (typeof value === 'string' && UUID.test(value) ? value : undefined);
    case 'JSON':
      return type !== undefined && DOCUMENTS.has(type.kind)
        ? documentText
        : (value) =>
            isLiteral(value) ? documentText(value) : (documentOrText(value) ?? undefined);
    default:
      return (value) => limitedText(value, length ?? MOST_LETTERS);
  }
}

/** Numbers are numbers, and what is none has a name. */
function floatCell(value: JsonValue, fits: (number: number) => boolean): Cell | undefined {
  const text = floatText(value);
  if (text === undefined || /^(?:NaN|-?Infinity)$/.test(text)) return text;
  const number = Number(text);
  return fits(number) ? number : undefined;
}

/** `2024-05-06T07:08:09.5Z`. */
export function timestampText(value: JsonValue): string | undefined {
  const text = momentText(value, SECOND_DIGITS);
  return text === undefined ? undefined : `${text.replace(' ', 'T')}Z`;
}

function listOf(encode: Encode, { base }: SpannerColumn): Encode {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const cells: Cell[] = [];
    for (const written of value) {
      const item = isLiteral(written) && base !== 'JSON' ? literalValue(written) : written;
      const cell = item === null ? null : encode(item);
      if (cell === undefined) return undefined;
      cells.push(cell);
    }
    return cells;
  };
}
