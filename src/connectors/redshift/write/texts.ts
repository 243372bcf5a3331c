/** Values as texts, and how statements read them. */
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { encoderOf, holdsDocuments, type Encoder } from '../../_postgres/encode.ts';
import type { LiveColumn, RowSet } from '../../_sql/driver.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import { textRows, type TextRow } from '../../_sql/text-rows.ts';

export type { TextRow } from '../../_sql/text-rows.ts';
import { typedColumns } from '../../_sql/typed-columns.ts';

export const SUPER = 'super';
const VARBYTE = 'binary varying';

/** The rows of a set as texts, in the order of its columns. */
export function encodedRows(set: RowSet, schema: RecordSchema | undefined): EncodedRows<TextRow> {
  return textRows(set, typedColumns(set.columns, schema).map(textOf));
}

function textOf(column: Parameters<typeof encoderOf>[0]): Encoder {
  if (column.sqlType === SUPER) return encoderOf({ ...column, sqlType: 'jsonb' });
  if (!isBytes(column.sqlType)) return encoderOf(column);
  if (column.type?.kind === 'binary') {
    const encode = encoderOf({ ...column, sqlType: 'bytea' });
    return (value) => encode(value)?.slice('\\x'.length) ?? null;
  }
  // Documents keep their text, and texts are the bytes of their letters.
  const encode = holdsDocuments(column)
    ? encoderOf({ ...column, sqlType: 'jsonb' })
    : encoderOf({ ...column, sqlType: 'text' });
  return (value) => {
    const text = encode(value);
    return text === null ? null : Buffer.from(text).toString('hex');
  };
}

/** The type may be spelled in the word of the statement that made it. */
function isBytes(sqlType: string): boolean {
  return sqlType === VARBYTE || sqlType === 'varbyte';
}

const LETTERS = /^(?:character varying|character|text|bpchar|"char"|name)$/;

/**
 * The value of a parameter in an INSERT. A type without its digits would have those that the server
 * thinks are usual, and a shorter text would be cut without a word.
 */
export function readParameter({ sqlType, limits }: LiveColumn, slot: string): string {
  if (sqlType === SUPER) return `JSON_PARSE(${slot})`;
  if (isBytes(sqlType)) return `TO_VARBYTE(${slot}, 'hex')`;
  if (LETTERS.test(sqlType)) return `CAST(${slot} AS VARCHAR(65535))`;
  return `CAST(${slot} AS ${limits ?? sqlType})`;
}
