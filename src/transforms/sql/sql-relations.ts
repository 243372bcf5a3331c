/** Reference data of the `sql` transform: files and literal rows that become tables. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  duckdbRows,
  fillDuckdbTable,
  quoteText,
  type DuckDBConnection,
} from '../../lib/sql/duckdb.ts';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import { readRegular } from '../../lib/files/regular-file.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { learnShapes, loadColumn, twice, type Shape } from './sql-shapes.ts';
import type { SqlRelation } from './sql-config.ts';

/** A relation and when its file was last changed, as far as it was read. */
export interface LoadedRelation {
  readonly relation: SqlRelation;
  readonly path: string | undefined;
  version: string;
}

export async function loadRelation(
  connection: DuckDBConnection,
  relation: SqlRelation,
  cwd: string,
): Promise<LoadedRelation> {
  const path =
    relation.source.type === 'values'
      ? undefined
      : permittedFile(resolve(cwd, relation.source.path));
  const loaded: LoadedRelation = { relation, path, version: '' };
  await reloadRelation(connection, loaded);
  return loaded;
}

/** Reads the relation again when its file has changed; the table is replaced at once. */
export async function reloadRelation(
  connection: DuckDBConnection,
  loaded: LoadedRelation,
): Promise<void> {
  const { source, name } = loaded.relation;
  const version = loaded.path === undefined ? 'fixed' : await versionOf(loaded.path);
  if (version === loaded.version) return;
  if (source.type === 'csv')
    await loadCsv(connection, name, { path: loaded.path ?? '', header: source.has_header });
  else
    await loadRecords(
      connection,
      name,
      source.type === 'values' ? rowsOf(source) : await readLines(loaded.path ?? ''),
    );
  loaded.version = version;
}

async function versionOf(path: string): Promise<string> {
  const { mtimeMs, size } = await stat(path);
  return `${mtimeMs} ${size}`;
}

/**
 * Types are what the whole column allows. Without a header the columns are called as the `csv`
 * source calls them.
 */
async function loadCsv(
  connection: DuckDBConnection,
  name: string,
  { path, header }: { path: string; header: boolean },
): Promise<void> {
  const table = quoteName(name);
  await connection.run(
    `CREATE OR REPLACE TABLE ${table} AS FROM read_csv(${quoteText(path)}, header = ${header}, sample_size = -1)`,
  );
  if (header) return;
  const columns = await duckdbRows(
    connection,
    "SELECT column_name AS name FROM duckdb_columns() WHERE table_name = $1 AND schema_name = 'main' ORDER BY column_index",
    [name],
  );
  for (const [index, column] of columns.entries()) {
    await connection.run(
      `ALTER TABLE ${table} RENAME COLUMN ${quoteName(column['name'] as string)} TO column_${index}`,
    );
  }
}

async function loadRecords(
  connection: DuckDBConnection,
  name: string,
  records: readonly JsonObject[],
): Promise<void> {
  const shapes = learnShapes(new Map(), records);
  if (shapes.size === 0) throw new Error('there is not one row with a column');
  const selection = await fillRecords(connection, { into: 'svc_relation', records, shapes });
  await connection.run(`CREATE OR REPLACE TABLE ${quoteName(name)} AS ${selection}`);
  await connection.run('DROP TABLE temp.svc_relation');
}

export interface Filling {
  /** Name of the temporary table the values travel in. */
  readonly into: string;
  readonly records: readonly JsonObject[];
  readonly shapes: ReadonlyMap<string, Shape>;
}

/**
 * Hands the records over column by column; returns the statement that reads them with their names
 * and types.
 */
export async function fillRecords(
  connection: DuckDBConnection,
  { into, records, shapes }: Filling,
): Promise<string> {
  const same = twice(shapes.keys());
  if (same !== undefined)
    throw new Error(
      `the engine does not tell upper from lower case, and ${JSON.stringify(same)} is there in both`,
    );
  const columns = [...shapes].map(([name, shape]) => loadColumn(name, shape, records));
  await fillDuckdbTable(
    connection,
    into,
    columns.map(({ column }) => column),
  );
  return `SELECT ${columns.map((column, index) => column.expression(`c${index}`)).join(', ')} FROM temp.${into}`;
}

function rowsOf({
  columns,
  rows,
}: {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly JsonValue[])[];
}): JsonObject[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map((name, index) => [name, row[index] ?? null])),
  );
}

async function readLines(path: string): Promise<JsonObject[]> {
  const lines = (await readRegular(path)).toString('utf8').split('\n');
  return lines.flatMap((line, index) => (line.trim() === '' ? [] : [objectIn(line, index + 1)]));
}

function objectIn(line: string, number: number): JsonObject {
  let value: JsonValue = null;
  try {
    value = parseJson(line);
  } catch (error) {
    throw new Error(`line ${number} is not JSON`, { cause: error });
  }
  if (isObject(value)) return value;
  throw new Error(`line ${number} is not an object`);
}
