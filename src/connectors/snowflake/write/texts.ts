/** Values as texts, and how statements make values of columns of them. */
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { documentText } from '../../../lib/text/json-literal.ts';
import { holdsDocuments, type Encoder } from '../../_postgres/encode.ts';
import { documentOrText } from '../../_sql/document-or-text.ts';
import type { LiveColumn, RowSet } from '../../_sql/driver.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import { hexEncoder, inUtc, numberText, plainText } from '../../_sql/plain-texts.ts';
import { textRows, type TextRow } from '../../_sql/text-rows.ts';

export type { TextRow } from '../../_sql/text-rows.ts';
import { typedColumns } from '../../_sql/typed-columns.ts';

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
  if (sqlType === 'BINARY') return hexEncoder(column);
  if (sqlType === 'TIMESTAMP_NTZ') return (value) => inUtc(plainText(value));
  if (sqlType === 'NUMBER') return (value) => numberText(name, plainText(value));
  return plainText;
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
