/** Values as texts, and how statements make values of columns of them. */
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { isBase64 } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { documentText, isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { holdsDocuments, typedColumns, type Encoder } from '../../_postgres/encode.ts';
import { documentOrText } from '../../_sql/document-or-text.ts';
import type { LiveColumn, RowSet } from '../../_sql/driver.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import { textRows, type TextRow } from '../../_sql/text-rows.ts';

export type { TextRow } from '../../_sql/text-rows.ts';

/** The rows of a set as texts, in the order of its columns. */
export function encodedRows(set: RowSet, schema: RecordSchema | undefined): EncodedRows<TextRow> {
  return textRows(set, typedColumns(set.columns, schema).map(encoderOf));
}

type Column = Pick<LiveColumn, 'name' | 'sqlType'> & { readonly type?: RecordType | undefined };

const DOCUMENTS: ReadonlySet<string> = new Set(['VARIANT', 'OBJECT', 'ARRAY', 'MAP']);

export function holdsDocument({ sqlType }: Pick<LiveColumn, 'sqlType'>): boolean {
  return DOCUMENTS.has(sqlType);
}

function encoderOf(column: Column): Encoder {
  const { name, sqlType } = column;
  if (holdsDocument(column))
    return holdsDocuments(column)
      ? (value) => (value === null ? null : documentText(value))
      : documentOrText;
  if (sqlType === 'BINARY') return bytesEncoder(column);
  if (sqlType === 'TIMESTAMP_NTZ') return (value) => inUtc(plainText(value));
  if (sqlType === 'NUMBER') return (value) => numberText(name, plainText(value));
  return plainText;
}

function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object')
    return isLiteral(value) ? plainText(literalValue(value)) : stringifyJson(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

/** In hexadecimal digits. A text that no source says to be bytes stands for its letters. */
function bytesEncoder({ name, type }: Column): Encoder {
  return (value) => {
    const text = plainText(value);
    if (text === null) return null;
    if (type?.kind !== 'binary') return Buffer.from(text).toString('hex');
    if (isBase64(text)) return Buffer.from(text, 'base64').toString('hex');
    throw new ConnectorError('data', `a value of \`${name}\` is not base64, as bytes are`, {
      hint: 'leave the field as it was read, or write it into a text column',
    });
  };
}

const WITH_ZONE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)$/i;

/** A column without a zone would keep the clock of any zone: it holds those of UTC. */
function inUtc(text: string | null): string | null {
  const [match, day, clock = '', zone = ''] = text === null ? [] : (WITH_ZONE.exec(text) ?? []);
  if (match === undefined || day === undefined) return text;
  if (/^z$/i.test(zone)) return `${day}T${clock}`;
  const [whole = '', fraction] = clock.split('.');
  const moment = new Date(
    `${day}T${whole}${zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`}`,
  );
  if (Number.isNaN(moment.getTime())) return text;
  const seconds = moment.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
  return fraction === undefined ? seconds : `${seconds}.${fraction}`;
}

/** The server takes `true` for a number, which nobody meant. */
function numberText(name: string, text: string | null): string | null {
  if (text !== 'true' && text !== 'false') return text;
  throw new ConnectorError('data', `the column \`${name}\` is a number, which ${text} is not`, {
    hint: 'convert the field with `cast`, or write it into another column',
  });
}

/** How a statement makes a value of the column of a text. */
export function readText({ sqlType, limits }: LiveColumn, text: string): string {
  switch (sqlType) {
    case 'VARIANT':
      return `PARSE_JSON(${text})`;
    case 'OBJECT':
    case 'ARRAY':
    case 'MAP':
      return `PARSE_JSON(${text})::${sqlType}`;
    case 'BINARY':
      return `TO_BINARY(${text}, 'HEX')`;
    case 'VARCHAR':
      return text;
    default:
      return `${text}::${limits ?? sqlType}`;
  }
}
