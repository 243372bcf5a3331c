/** The statements that write a page. */
import type { JsonValue } from '../../../lib/text/json.ts';
import type { Link, Parameter } from '../../_mssql/connection.ts';
import { bracketed, bracketedList } from '../../_mssql/quote.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import type { Encoded, Encoder } from './encode.ts';

/** Limits of the server for one statement. */
const MOST_PARAMETERS = 2098;
const MOST_ROWS = 1000;
export const PAGE_TABLE = '#svc_page';

/** Rows as texts, with a number before each. */
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

/**
 * Runs a statement that reads rows from `v`, with their numbers in `c0` and their texts in `c1` and
 * so on: few rows are parameters of the statement, more are loaded into a table before it.
 */
export async function withRows<T>(
  link: Link,
  encoders: readonly Encoder[],
  rows: readonly EncodedRow[],
  run: (source: string, parameters: readonly Parameter[]) => Promise<T>,
): Promise<T> {
  if (rows.length <= MOST_ROWS && rows.length * encoders.length <= MOST_PARAMETERS)
    return run(...asParameters(encoders, rows));
  await loadRows(link, encoders, rows);
  const result = await run(`${PAGE_TABLE} AS v`, []);
  await link.batch(`DROP TABLE ${PAGE_TABLE}`);
  return result;
}

function asParameters(
  encoders: readonly Encoder[],
  rows: readonly EncodedRow[],
): [source: string, parameters: Parameter[]] {
  const parameters: Parameter[] = [];
  const values = rows.map((row, index) => {
    const slots = row.map((value, at) => {
      const name = `p${parameters.length + 1}`;
      parameters.push({ name, type: encoders[at]?.isBytes === true ? 'bytes' : 'text', value });
      return `@${name}`;
    });
    return `(${[index, ...slots].join(', ')})`;
  });
  const names = ['c0', ...encoders.map((_, at) => `c${at + 1}`)];
  return [`(VALUES ${values.join(', ')}) AS v (${names.join(', ')})`, parameters];
}

async function loadRows(
  link: Link,
  encoders: readonly Encoder[],
  rows: readonly EncodedRow[],
): Promise<void> {
  const columns = encoders.map(({ isBytes }, at) => {
    const length = rows.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), 0);
    return { name: `c${at + 1}`, length, isBytes };
  });
  const lines = columns.map(({ name, length, isBytes }) => {
    const size = length > LONGEST ? 'max' : LONGEST;
    return isBytes
      ? `${name} varbinary(${size}) NULL`
      : `${name} nvarchar(${size}) COLLATE DATABASE_DEFAULT NULL`;
  });
  await link.batch(
    `DROP TABLE IF EXISTS ${PAGE_TABLE}; CREATE TABLE ${PAGE_TABLE} (c0 int NOT NULL, ${lines.join(', ')})`,
  );
  const numbered = rows.map((row, index) => [index, ...row]);
  await link.load(PAGE_TABLE, [{ name: 'c0', length: 0, isBytes: false }, ...columns], numbered);
}

const LONGEST = 4000;

export function insertSql(table: string, encoders: readonly Encoder[], source: string): string {
  const values = encoders.map(({ sql }, at) => sql(`v.c${at + 1}`));
  return `INSERT INTO ${table} (${namesOf(encoders)}) SELECT ${values.join(', ')} FROM ${source}`;
}

function namesOf(encoders: readonly Encoder[]): string {
  return bracketedList(encoders.map(({ column }) => column.name));
}

/**
 * Of rows that the database finds to have one key the last counts. The range of the keys is locked,
 * so that nobody inserts one of them between looking and writing.
 */
function mergeSql(table: string, { encoders, key, source }: KeyedRows, actions: string): string {
  const isKey = (encoder: Encoder): boolean => key.includes(encoder.column.name);
  const values = encoders.map(({ sql }, at) => `${sql(`v.c${at + 1}`)} AS c${at + 1}`);
  const keys = encoders.flatMap((encoder, at) => (isKey(encoder) ? [at] : []));
  const parts = keys.map((at) => encoders[at]?.sql(`v.c${at + 1}`) ?? '');
  const same = keys.map((at) => `t.${bracketed(encoders[at]?.column.name ?? '')} = s.c${at + 1}`);
  const numbered = `SELECT ${values.join(', ')}, ROW_NUMBER() OVER (PARTITION BY ${parts.join(', ')} ORDER BY v.c0 DESC) AS svc_place FROM ${source}`;
  return `MERGE INTO ${table} WITH (HOLDLOCK) AS t USING (SELECT * FROM (${numbered}) AS n WHERE n.svc_place = 1) AS s ON ${same.join(' AND ')} ${actions};`;
}

export interface KeyedRows {
  readonly encoders: readonly Encoder[];
  readonly key: readonly string[];
  readonly source: string;
}

export function upsertSql(table: string, rows: KeyedRows): string {
  const { encoders, key } = rows;
  const assigned = encoders.flatMap(({ column: { name } }, at) =>
    key.includes(name) ? [] : [`${bracketed(name)} = s.c${at + 1}`],
  );
  const update =
    assigned.length === 0 ? '' : `WHEN MATCHED THEN UPDATE SET ${assigned.join(', ')} `;
  const values = encoders.map((_, at) => `s.c${at + 1}`).join(', ');
  return mergeSql(
    table,
    rows,
    `${update}WHEN NOT MATCHED THEN INSERT (${namesOf(encoders)}) VALUES (${values})`,
  );
}

export function deleteSql(table: string, rows: KeyedRows): string {
  return mergeSql(table, rows, 'WHEN MATCHED THEN DELETE');
}
