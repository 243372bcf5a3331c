/** The statements that write a page, each of which runs once for every row of an array. */
import type { JsonValue } from '../../../lib/text/json.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import type { BindColumn } from '../connection.ts';
import type { Encoded, Encoder } from '../encode.ts';

type EncodedRow = readonly Encoded[];

export function encodeRows(
  rows: readonly (readonly JsonValue[])[],
  encoders: readonly Encoder[],
): EncodedRow[] {
  return rows.map((row, index) => {
    try {
      return encoders.map(({ encode }, at) => encode(row[at] ?? null));
    } catch (error) {
      throw withRefusedRow(error, index);
    }
  });
}

/** In expressions and queries the server takes no longer values than these, unless they are LOBs. */
const LONGEST_TEXT = 4000;
const LONGEST_BYTES = 2000;
/** Few sizes, so that the server keeps one plan. */
const SIZES = [64, 512, LONGEST_TEXT, 32_767];

/** How the values of each place are sent. `inserts`: they are values of an insert. */
export function bindColumns(
  encoders: readonly Encoder[],
  rows: readonly EncodedRow[],
  { inserts }: { readonly inserts: boolean },
): BindColumn[] {
  return encoders.map(({ isBytes, isConverted }, at) => {
    const most = rows.reduce((size, row) => Math.max(size, sizeOf(row[at] ?? null)), 0);
    const bytes = SIZES.find((size) => size >= most) ?? most;
    const isLong = most > (isBytes ? LONGEST_BYTES : LONGEST_TEXT);
    if (isLong && (isConverted || !inserts)) return { as: isBytes ? 'blob' : 'clob', bytes };
    return { as: isBytes ? 'bytes' : 'text', bytes };
  });
}

function sizeOf(value: Encoded): number {
  if (value === null) return 0;
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length;
}

function valuesOf(encoders: readonly Encoder[]): string[] {
  return encoders.map(({ sql }, at) => sql(`:${at + 1}`));
}

function namesOf(encoders: readonly Encoder[]): string {
  return encoders.map(({ column }) => quoteName(column.name)).join(', ');
}

export function insertSql(table: string, encoders: readonly Encoder[]): string {
  return `INSERT INTO ${table} (${namesOf(encoders)}) VALUES (${valuesOf(encoders).join(', ')})`;
}

/** Rows are written one after the other, so that of one key the last counts. */
export function upsertSql(
  table: string,
  encoders: readonly Encoder[],
  key: readonly string[],
): string {
  const given = valuesOf(encoders).map((value, at) => `${value} AS c${at + 1}`);
  const numbered = encoders.map(({ column: { name } }, at) => ({ name, value: `s.c${at + 1}` }));
  const same = numbered
    .filter(({ name }) => key.includes(name))
    .map(({ name, value }) => `t.${quoteName(name)} = ${value}`);
  const assigned = numbered
    .filter(({ name }) => !key.includes(name))
    .map(({ name, value }) => `${quoteName(name)} = ${value}`);
  const update =
    assigned.length === 0 ? '' : ` WHEN MATCHED THEN UPDATE SET ${assigned.join(', ')}`;
  const values = numbered.map(({ value }) => value).join(', ');
  return `MERGE INTO ${table} t USING (SELECT ${given.join(', ')} FROM DUAL) s ON (${same.join(' AND ')})${update} WHEN NOT MATCHED THEN INSERT (${namesOf(encoders)}) VALUES (${values})`;
}

export function deleteSql(table: string, encoders: readonly Encoder[]): string {
  const same = encoders.map(
    ({ column, sql }, at) => `${quoteName(column.name)} = ${sql(`:${at + 1}`)}`,
  );
  return `DELETE FROM ${table} WHERE ${same.join(' AND ')}`;
}
