/** Values as texts, and how statements make values of columns of them. */
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { documentText } from '../../../lib/text/json-literal.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { holdsDocuments, type Encoder } from '../../_postgres/encode.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import { documentOrText } from '../../_sql/document-or-text.ts';
import type { LiveColumn, RowSet } from '../../_sql/driver.ts';
import { hexEncoder, inUtc, numberText, plainText } from '../../_sql/plain-texts.ts';
import { textRows, type TextRow } from '../../_sql/text-rows.ts';
import { typedColumns } from '../../_sql/typed-columns.ts';
import { literal } from '../names.ts';
import { NESTED } from './columns.ts';

/** The rows of a set as texts, in the order of its columns. */
export function encodedRows(set: RowSet, schema: RecordSchema | undefined): EncodedRows<TextRow> {
  return textRows(set, typedColumns(set.columns, schema).map(encoderOf));
}

type Column = Pick<LiveColumn, 'name' | 'sqlType'> & { readonly type?: RecordType | undefined };

const NUMBERS: ReadonlySet<string> = new Set([
  'TINYINT',
  'SMALLINT',
  'INT',
  'BIGINT',
  'DECIMAL',
  'FLOAT',
  'DOUBLE',
]);

function encoderOf(column: Column): Encoder {
  const { name, sqlType } = column;
  if (sqlType === 'VARIANT' || NESTED.has(sqlType))
    return holdsDocuments(column)
      ? (value) => (value === null ? null : documentText(value))
      : documentOrText;
  if (sqlType === 'BINARY') return hexEncoder(column);
  if (sqlType === 'TIMESTAMP_NTZ') return (value) => inUtc(plainText(value));
  if (sqlType === 'TIMESTAMP') return (value) => ofUtc(plainText(value));
  if (NUMBERS.has(sqlType)) return (value: JsonValue) => numberText(name, plainText(value));
  return plainText;
}

const WITHOUT_ZONE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/;

/** The server would read a clock without a zone as one of its own zone. */
function ofUtc(text: string | null): string | null {
  const [match, day, clock = '00:00:00'] = text === null ? [] : (WITHOUT_ZONE.exec(text) ?? []);
  return match === undefined ? text : `${day}T${clock}Z`;
}

const FAILS = "map('mode', 'FAILFAST')";

/** How a statement makes a value of the column of a text. */
export function readText({ name, sqlType, limits = sqlType }: LiveColumn, text: string): string {
  switch (sqlType) {
    case 'STRING':
    case 'VARCHAR':
    case 'CHAR':
      return text;
    case 'VARIANT':
      return `parse_json(${text})`;
    case 'ARRAY':
    case 'MAP':
    case 'STRUCT':
      return `from_json(${text}, ${literal(limits)}, ${FAILS})`;
    default: {
      const value = sqlType === 'BINARY' ? `unhex(${text})` : `CAST(${text} AS ${limits})`;
      // A warehouse that is not in ANSI mode makes null of what it cannot read.
      const refusal = `raise_error(concat(${literal(`the column ${name} is ${limits}, which this is not: `)}, ${text}))`;
      return `coalesce(${value}, CAST(IF(${text} IS NULL, NULL, ${refusal}) AS ${limits}))`;
    }
  }
}
