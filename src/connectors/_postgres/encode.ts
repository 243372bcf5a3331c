/** Converts JSON values to text that the column's type can read. */
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { documentText, exactField, isLiteral, literalValue } from '../../lib/text/json-literal.ts';
import type { RecordType } from '../../kit/record-schema.ts';
import { isBase64 } from '../../kit/typed-values.ts';
import type { LiveColumn } from '../_sql/driver.ts';
import { delimiterOf } from './arrays.ts';
import { documentOrText } from '../_sql/document-or-text.ts';
import { roundingOf } from './rounding.ts';

export type Encoder = (value: JsonValue) => string | null;

/** What decides how a value is written: the column, and the type of the value where it is known. */
export interface Encoded extends Pick<LiveColumn, 'name' | 'sqlType' | 'baseType' | 'limits'> {
  readonly type?: RecordType | undefined;
}

export function encoderOf(column: Encoded): Encoder {
  const { type } = column;
  const sqlType = column.baseType ?? column.sqlType;
  if (isJsonType(sqlType))
    return holdsDocuments(column)
      ? (value) => (value === null ? null : documentText(value))
      : documentOrText;
  if (sqlType === 'bytea' && takesBytes(type)) return byteaEncoder(column);
  if (sqlType.endsWith('[]')) {
    const itemType = sqlType.slice(0, -2);
    const items: ArrayItems = {
      encode: encoderOf({
        name: column.name,
        sqlType: itemType,
        type: type?.kind === 'list' ? type.item : undefined,
      }),
      delimiter: delimiterOf(sqlType),
      areDocuments: isJsonType(itemType),
    };
    return (value) => (Array.isArray(value) ? arrayText(value, items) : plainText(value));
  }
  const plain = unrounded(column) ?? plainText;
  return type !== undefined && ERAS.has(type.kind) ? inItsEra(plain) : plain;
}

const ERAS: ReadonlySet<string> = new Set(['date', 'timestamp']);
const UNUSUAL_YEAR = /^([+-]\d{4,9}|0000)(-\d.*)$/;

/** Years outside of 1 to 9999 as the server reads them: `-000043-03-15` is `0044-03-15 BC`. */
function inItsEra(encode: Encoder): Encoder {
  return (value) => {
    const text = encode(value);
    const [match, digits, rest] = text === null ? [] : (UNUSUAL_YEAR.exec(text) ?? []);
    if (match === undefined) return text;
    const year = Number(digits);
    const counted = String(year > 0 ? year : 1 - year).padStart(4, '0');
    return `${counted}${rest}${year > 0 ? '' : ' BC'}`;
  };
}

function unrounded(column: Encoded): Encoder | undefined {
  const rounding = roundingOf(column);
  if (rounding === undefined) return undefined;
  const { name, sqlType } = column;
  return (value) => {
    const exact = isLiteral(value) ? literalValue(value) : value;
    if (!rounding.isRounded(exact)) return plainText(value);
    throw new ConnectorError(
      'data',
      `the column \`${name}\` is ${sqlType}, which would round ${plainText(exact)}${rounding.why}`,
      { hint: rounding.hint },
    );
  };
}

export function isJsonType(sqlType: string): boolean {
  return sqlType === 'json' || sqlType === 'jsonb';
}

/** Whether a text among the values is a JSON string, and not the text of a document. */
export function holdsDocuments({ type }: Pick<Encoded, 'type'>): boolean {
  return type !== undefined && DOCUMENTS.has(type.kind);
}

const DOCUMENTS: ReadonlySet<string> = new Set(['json', 'list', 'struct', 'map']);

/**
 * Whether a text for a column of bytes is base64: in files and documents, which say no types, bytes
 * have no other form. A text that its source knows as one stands for its letters.
 */
export function takesBytes(type: RecordType | undefined): boolean {
  return type === undefined || type.kind === 'binary' || type.kind === 'json';
}

/** How the server writes bytes: no base64, because of the backslash. */
const HEX = /^\\x(?:[0-9a-f]{2})*$/i;

function byteaEncoder({ name, type }: Encoded): Encoder {
  return (value) => {
    if (value === null) return null;
    const plain = isLiteral(value) ? literalValue(value) : value;
    if (typeof plain === 'string') {
      if (isBase64(plain)) return `\\x${Buffer.from(plain, 'base64').toString('hex')}`;
      if (type?.kind !== 'binary' && HEX.test(plain)) return plain;
    }
    throw new ConnectorError('data', `a value of \`${name}\` is not base64, as bytes are`, {
      hint:
        type?.kind === 'binary'
          ? 'leave the field as it was read, or write it into a text column'
          : 'write bytes as base64 or as `\\x` and hexadecimal digits; a field that is known as text, as after `cast` to string, is stored as its letters',
    });
  };
}

/** For values that already are text. */
export function finishedText(value: JsonValue): string | null {
  return typeof value === 'string' ? value : plainText(value);
}

function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object')
    return isLiteral(value) ? plainText(literalValue(value)) : stringifyJson(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

interface ArrayItems {
  readonly encode: Encoder;
  readonly delimiter: string;
  /** A list among the items is a document, and no further dimension. */
  readonly areDocuments: boolean;
}

function arrayText(list: JsonValue[], items: ArrayItems): string {
  const parts = list.map((item, index) => {
    if (Array.isArray(item) && !items.areDocuments) return arrayText(item, items);
    const text = items.encode(exactField(list, String(index)));
    return text === null ? 'NULL' : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${parts.join(items.delimiter)}}`;
}

const COPY_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

const NEEDS_ESCAPE = /[\\\n\r\t]/;

/** Rows in the text form of COPY. */
export function copyLines(
  rows: readonly (readonly JsonValue[])[],
  encoders: readonly Encoder[],
): string {
  let text = '';
  for (const row of rows) {
    for (let index = 0; index < encoders.length; index += 1) {
      if (index > 0) text += '\t';
      const value = encoders[index]?.(row[index] ?? null) ?? null;
      text += value === null ? '\\N' : escaped(value);
    }
    text += '\n';
  }
  return text;
}

/** A text as a value in the text form of COPY. */
export function escaped(text: string): string {
  return NEEDS_ESCAPE.test(text)
    ? text.replace(/[\\\n\r\t]/g, (char) => COPY_ESCAPES[char] ?? char)
    : text;
}
