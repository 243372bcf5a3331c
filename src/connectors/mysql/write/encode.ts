/** Converts values to the text that a column reads. */
import { ConnectorError } from '../../../lib/errors.ts';
import { documentText, isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { isBase64 } from '../../../kit/typed-values.ts';
import type { CellStyle } from '../../../fast/copy-text/copy-cells.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import { documentOrText } from '../../_sql/document-or-text.ts';
import { serverTime } from '../read/literals.ts';

/**
 * How the text of a value is written into a statement: as a text, as a number, as the hexadecimal
 * digits of bytes, or as the number of bits.
 */
export type Slot = 'text' | 'number' | 'hex' | 'bits';

export interface Encoder {
  readonly name: string;
  readonly slot: Slot;
  readonly encode: (value: JsonValue) => string | null;
  /** Which cells need no encoding, because they are what it would give. */
  readonly style: CellStyle;
}

/** Encoders of columns; the type of a field may be known from a page. A field may differ in case. */
export function encodersOf(
  columns: readonly LiveColumn[],
  schema: RecordSchema | undefined,
  finished = false,
): Encoder[] {
  const types = new Map(schema?.fields.map(({ name, type }) => [name.toLowerCase(), type]));
  return columns.map((column) =>
    finished
      ? { name: column.name, slot: 'text', style: 'plain', encode: plainText }
      : encoderOf(column, types.get(column.name.toLowerCase())),
  );
}

export function encoderOf({ name, sqlType }: LiveColumn, type: RecordType | undefined): Encoder {
  if (sqlType === 'json') {
    const isDocument = type !== undefined && DOCUMENTS.has(type.kind);
    const encode = isDocument
      ? (value: JsonValue) => (value === null ? null : documentText(value))
      : documentOrText;
    return { name, slot: 'text', style: isDocument ? 'document' : 'json', encode };
  }
  if (/^(?:date|time)/.test(sqlType))
    return { name, slot: 'text', style: 'clock', encode: (value) => timeText(plainText(value)) };
  if (type?.kind === 'binary' && BYTES.test(sqlType))
    return { name, slot: 'hex', style: 'encoded', encode: (value) => hexText(name, value) };
  if (sqlType.startsWith('bit'))
    return { name, slot: 'bits', style: 'number', encode: (value) => numberText(value) };
  if (sqlType.startsWith('year')) return { name, slot: 'text', style: 'encoded', encode: yearText };
  if (NUMBERS.test(sqlType)) return { name, slot: 'number', style: 'number', encode: numberText };
  return { name, slot: 'text', style: 'plain', encode: plainText };
}

const DOCUMENTS: ReadonlySet<string> = new Set(['json', 'list', 'struct', 'map']);
const BYTES = /binary|blob|^(?:geometry|point|linestring|polygon|multi\w+)/;
const NUMBERS = /^(?:\w*int\b|decimal|float|double)/;
const YEAR_DIGITS = 4;

/** The server takes fewer digits for a year of this century or the last one. */
function yearText(value: JsonValue): string | null {
  return numberText(value)?.padStart(YEAR_DIGITS, '0') ?? null;
}

function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object')
    return isLiteral(value) ? plainText(literalValue(value)) : stringifyJson(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

function numberText(value: JsonValue): string | null {
  if (value === true || value === 'true') return '1';
  if (value === false || value === 'false') return '0';
  return plainText(value);
}

function timeText(text: string | null): string | null {
  return text === null ? null : serverTime(text);
}

function hexText(name: string, value: JsonValue): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && isBase64(value))
    return Buffer.from(value, 'base64').toString('hex');
  throw new ConnectorError('data', `a value of \`${name}\` is not base64, as bytes are`, {
    hint: 'leave the field as it was read, or write it into a text column',
  });
}

const PLAIN_NUMBER = /^-?\d{1,60}(?:\.\d{1,28})?$/;

/** A value inside of a statement; the SQL mode of the session has backslash escapes. */
export function valueSql({ slot, encode }: Encoder, value: JsonValue): string {
  const text = encode(value);
  if (text === null) return 'NULL';
  if (slot === 'hex') return `X'${text}'`;
  if (slot !== 'text' && PLAIN_NUMBER.test(text)) return text;
  return `'${NEEDS_ESCAPE.test(text) ? text.replaceAll(ESCAPED, (char) => `\\${ESCAPES[char] ?? char}`) : text}'`;
}

const NEEDS_ESCAPE = /['\\\0]/;
const ESCAPED = /['\\\0]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\0': '0' };
