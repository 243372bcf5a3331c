import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import {
  duckdbRows,
  fillDuckdbTable,
  interruptible,
  openDuckdb,
  type Duckdb,
  type DuckDBConnection,
} from '../../lib/sql/duckdb.ts';
import { duckdbError, firstLine } from '../../lib/sql/duckdb-errors.ts';
import { Gate } from '../../lib/gate.ts';
import { LOCK_WAIT_MS, lockPauseMs } from '../../lib/sql/lock-retry.ts';
import { jsonText, type JsonValue } from '../../lib/text/json.ts';
import { quoteName, quoteNames } from '../../lib/sql/sql-name.ts';
import type { SinkContext } from '../../kit/context.ts';
import type { SchemaChange } from '../../kit/sink.ts';
import {
  TOKEN_TABLE,
  type CommitToken,
  type LiveColumn,
  type RowSet,
  type SqlDriver,
  type TableChange,
} from '../_sql/driver.ts';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
  type HeldScope,
} from '../../kit/execution.ts';
import { MEMORY, pathOf, type DuckdbSinkConfig } from './config.ts';
import { withRefusedRow } from '../_sql/refused-row.ts';
import { arrayFault } from '../../kit/array-shapes.ts';
import { roundingOf } from './rounding.ts';
import { fromText, textFor } from '../../lib/sql/duckdb-from-text.ts';
import { columnLine, DUCKDB_TYPES } from './new-column.ts';
import { duplicateKey, placeRefusal } from './refused-value.ts';
import { readColumns, readKeys } from './schema.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';

export async function openDuckdbDriver(
  config: DuckdbSinkConfig,
  context: SinkContext,
): Promise<SqlDriver> {
  const path = pathOf(config.database, context.env.cwd);
  const database =
    context.onlyReads === true ? await openToLook(path) : await openToWrite(path, config.database);
  const { connection } = database;
  const { signal } = context;
  // One connection has one transaction: changes take turns.
  const turn = new Gate(1);

  const run = async <T>(doing: string, work: () => Promise<T>): Promise<T> => {
    const release = await turn.enter();
    try {
      return await interruptible(connection, signal, work);
    } catch (error) {
      throw error === signal.reason ? error : duckdbError(error, doing);
    } finally {
      release();
    }
  };
  const execute = async (sql: string): Promise<void> => void (await connection.run(sql));

  return {
    names: { ignoresCase: true },
    roundingOf,
    columns: (table) =>
      run(`reading the columns of \`${table}\``, () => readColumns(connection, table)),
    createTable: (table, columns, { key }) =>
      run(`making the table \`${table}\``, () => {
        const lines = columns.map(columnLine);
        if (key.length > 0) lines.push(`PRIMARY KEY (${quoteNames(key)})`);
        return execute(`CREATE TABLE IF NOT EXISTS ${quoteName(table)} (${lines.join(', ')})`);
      }),
    apply: (change) => run(`writing to \`${change.table}\``, () => apply(connection, change)),
    lastToken: (scope, execution) =>
      run('reading the commit token', async () => {
        if (execution !== undefined) await takeScope(connection, scope, execution);
        return lastToken(connection, scope);
      }),
    forgetToken: (scope) =>
      run('removing the commit token', async () => {
        if ((await readColumns(connection, TOKEN_TABLE)) !== undefined)
          await connection.run(`DELETE FROM ${TOKEN_TABLE} WHERE scope = $1`, [scope]);
      }),
    evolve: (table, change) =>
      run(`changing the table \`${table}\``, () =>
        inTransaction(connection, () => evolve(connection, table, change)),
      ),
    tablesFrom: (prefix) =>
      run('looking for what other runs left', () => tablesFrom(connection, prefix)),
    stage: (table, staging) =>
      run(`staging \`${table}\``, () =>
        inTransaction(connection, () => stage(connection, table, staging)),
      ),
    fenced: true,
    swap: (table, staging, { held }) =>
      run(`replacing \`${table}\``, () =>
        inTransaction(connection, async () => {
          if (held !== undefined) await holdScope(connection, held);
          await swap(connection, table, staging);
        }),
      ),
    drop: (table, held) =>
      run(`dropping \`${table}\``, () =>
        inTransaction(connection, async () => {
          if (held !== undefined) await holdScope(connection, held);
          await execute(`DROP TABLE IF EXISTS ${quoteName(table)}`);
        }),
      ),
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}

async function openToWrite(path: string, written: string): Promise<Duckdb> {
  if (path !== MEMORY) await makeFolderOf(path, written);
  return openDuckdb(path);
}

/** A file that is not there stays so; in the place of it stands an empty database. */
function openToLook(path: string): Promise<Duckdb> {
  return existsSync(path) ? openDuckdb(path, { access_mode: 'READ_ONLY' }) : openDuckdb(MEMORY);
}

/** Whoever may make the database may make its folder, as all file sinks do. */
async function makeFolderOf(path: string, written: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
  } catch (error) {
    throw new ConnectorError(
      'connection',
      `connection failed: the folder of ${written} cannot be made`,
      {
        hint: 'check the path and the rights on the folders above it',
        cause: error,
      },
    );
  }
}

async function inTransaction(
  connection: DuckDBConnection,
  work: () => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  for (let attempt = 0; ; attempt += 1) {
    await connection.run('BEGIN');
    try {
      await work();
      await connection.run('COMMIT');
      return;
    } catch (error) {
      // A failed COMMIT has ended the transaction already.
      await connection.run('ROLLBACK').catch(() => {});
      if (!CONFLICT.test(messageOf(error)) || performance.now() >= deadline) throw error;
      await sleep(lockPauseMs(attempt));
    }
  }
}

/** Another connection of this process has changed the same rows. */
const CONFLICT = /TransactionContext Error:.*conflict/i;

/**
 * Rows travel as text in bulk into a temporary table; the engine turns them into the types of the
 * columns.
 */
async function apply(connection: DuckDBConnection, change: TableChange): Promise<void> {
  const { key, deletes, deletesBefore } = change;
  if (deletes.length > 0) await fill(connection, LEAVING, { columns: key, rows: deletes }, false);
  if (deletesBefore !== undefined)
    await fill(connection, REPLACED, { columns: key, rows: deletesBefore }, false);
  let refused: RowSet | undefined;
  await inTransaction(connection, async () => {
    if (deletesBefore !== undefined) await connection.run(deletion(change, REPLACED));
    for (const set of change.writes) {
      await fill(connection, INCOMING, set, change.finished);
      await insert(connection, change, set).catch((error: unknown) => {
        refused = set;
        throw error;
      });
    }
    if (deletes.length > 0) await connection.run(deletion(change, LEAVING));
    if (change.commit !== undefined) await storeToken(connection, change.commit);
  }).catch(async (error: unknown) => {
    if (refused === undefined) throw error;
    const isKey = duplicateKey(messageOf(error)) !== undefined;
    throw placeRefusal(error, refused, isKey ? await readKeys(connection, change.table) : []);
  });
}

/** Columns of dates or timestamps, and lists of them. */
const DATES = /^(?:DATE|TIMESTAMP)[A-Z_ ]*(?:\[\d*\])*$/;
/**
 * The engine reads an era in brackets behind the day. An era without brackets is passed over: the
 * year 44 BC would become the year 44.
 */
const ERA_BEFORE = /(?<day>\d+-\d+-\d+)(?<clock>[^",]*) BC(?="|$)/g;

const INCOMING = 'svc_incoming';
const LEAVING = 'svc_leaving';
const REPLACED = 'svc_replaced';

function fill(
  connection: DuckDBConnection,
  table: string,
  { columns, rows }: RowSet,
  finished: boolean,
): Promise<void> {
  const toText = (value: JsonValue, { sqlType }: LiveColumn): string | null => {
    if (value === null) return null;
    const text = finished ? jsonText(value) : textFor(value, sqlType);
    return DATES.test(sqlType) ? text.replaceAll(ERA_BEFORE, '$<day> (BC)$<clock>') : text;
  };
  return fillDuckdbTable(
    connection,
    table,
    columns.map((column, index) => ({
      type: 'VARCHAR',
      values: rows.map((row, at) => {
        const value = row[index] ?? null;
        const fault = arrayFaultIn(value, column);
        if (fault !== undefined) throw withRefusedRow(fault, at);
        return toText(value, column);
      }),
    })),
  );
}

const LISTS = /^([^()]*?)((?:\[\d*\])+)$/;

/** The engine would store inner lists as texts, or tell of them in words of its own. */
function arrayFaultIn(value: JsonValue, { name, sqlType }: LiveColumn): ConnectorError | undefined {
  const [, item, brackets] = LISTS.exec(sqlType) ?? [];
  if (brackets === undefined) return undefined;
  if (!Array.isArray(value)) return arrayFault(value, name);
  if (item === 'JSON') return undefined;
  const inner = innerList(value, brackets.split('[').length - 1);
  return inner === undefined ? undefined : arrayFault(inner, `${name}[]`);
}

function innerList(items: readonly JsonValue[], dimensions: number): JsonValue[] | undefined {
  for (const item of items) {
    if (!Array.isArray(item)) continue;
    const inner = dimensions === 1 ? item : innerList(item, dimensions - 1);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

async function insert(
  connection: DuckDBConnection,
  { table, key, mode }: TableChange,
  { columns }: RowSet,
): Promise<void> {
  const names = columns.map((column) => column.name);
  const values = columns.map((column, index) => fromText(`c${index}`, column.sqlType));
  const statement = `INSERT INTO ${quoteName(table)} (${quoteNames(names)}) SELECT ${values.join(', ')} FROM temp.${INCOMING} ORDER BY rowid`;
  if (mode === 'insert') return void (await connection.run(statement));
  const keys = key.map((column) => column.name);
  try {
    await connection.run(
      `${statement} ON CONFLICT (${quoteNames(keys)}) ${onConflict(names, keys)}`,
    );
  } catch (error) {
    throw missingIndex(error, table, keys) ?? error;
  }
}

function onConflict(names: readonly string[], keys: readonly string[]): string {
  const rest = names.filter((name) => !keys.includes(name)).map(quoteName);
  return rest.length === 0
    ? 'DO NOTHING'
    : `DO UPDATE SET ${rest.map((name) => `${name} = excluded.${name}`).join(', ')}`;
}

function missingIndex(
  error: unknown,
  table: string,
  keys: readonly string[],
): ConnectorError | undefined {
  if (!(error instanceof Error) || !/conflict target are not referenced by/i.test(error.message))
    return undefined;
  return new ConnectorError(
    'data',
    `\`${table}\` has no unique index on (${keys.join(', ')}), which an upsert needs`,
    {
      hint: `CREATE UNIQUE INDEX ${quoteName(`${table}_key`)} ON ${quoteName(table)} (${quoteNames(keys)})`,
      cause: new Error(firstLine(error.message)),
    },
  );
}

function deletion({ table, key }: TableChange, keys: string): string {
  const equal = key.map(
    ({ name, sqlType }, index) => `t.${quoteName(name)} = ${fromText(`l.c${index}`, sqlType)}`,
  );
  return `DELETE FROM ${quoteName(table)} AS t USING temp.${keys} AS l WHERE ${equal.join(' AND ')}`;
}

/** From now on only this execution commits in the scope. */
async function takeScope(
  connection: DuckDBConnection,
  scope: string,
  execution: Execution,
): Promise<void> {
  const name = executionScope(scope);
  await inTransaction(connection, async () => {
    if (isLater(await lastToken(connection, name), execution)) throw takenOverError(scope);
    await putToken(connection, { scope: name, token: executionText(execution) });
  });
}

async function storeToken(connection: DuckDBConnection, commit: CommitToken): Promise<void> {
  const { scope, execution } = commit;
  if (execution !== undefined) await holdScope(connection, { scope, execution });
  await putToken(connection, commit);
}

/** To be called in a transaction. */
async function holdScope(
  connection: DuckDBConnection,
  { scope, execution }: HeldScope,
): Promise<void> {
  const mark = { scope: executionScope(scope), token: executionText(execution) };
  if ((await lastToken(connection, mark.scope)) !== mark.token) throw takenOverError(scope);
  // Whoever takes over meanwhile changes the same row: of the two transactions one fails.
  await putToken(connection, mark);
}

async function putToken(
  connection: DuckDBConnection,
  { scope, token }: CommitToken,
): Promise<void> {
  await connection.run(
    `CREATE TABLE IF NOT EXISTS ${TOKEN_TABLE} (scope VARCHAR PRIMARY KEY, token VARCHAR NOT NULL, updated_at TIMESTAMPTZ NOT NULL)`,
  );
  await connection.run(
    `INSERT INTO ${TOKEN_TABLE} (scope, token, updated_at) VALUES ($1, $2, now())
     ON CONFLICT (scope) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at`,
    [scope, token],
  );
}

async function lastToken(connection: DuckDBConnection, scope: string): Promise<string | undefined> {
  if ((await readColumns(connection, TOKEN_TABLE)) === undefined) return undefined;
  const [row] = await duckdbRows(connection, `SELECT token FROM ${TOKEN_TABLE} WHERE scope = $1`, [
    scope,
  ]);
  return row === undefined ? undefined : jsonText(row['token'] ?? null);
}

async function evolve(
  connection: DuckDBConnection,
  table: string,
  { add, widen, relaxNull }: SchemaChange,
): Promise<void> {
  const alter = `ALTER TABLE ${quoteName(table)}`;
  for (const column of add)
    await connection.run(`${alter} ADD COLUMN IF NOT EXISTS ${columnLine(column)}`);
  for (const { name, type } of widen)
    await connection.run(
      `${alter} ALTER COLUMN ${quoteName(name)} SET DATA TYPE ${DUCKDB_TYPES[type]}`,
    );
  for (const name of relaxNull)
    await connection.run(`${alter} ALTER COLUMN ${quoteName(name)} DROP NOT NULL`);
}

/**
 * Column names, types, defaults and NOT NULL; keys and indexes stay with the table itself, which is
 * checked when the rows arrive there.
 */
async function stage(connection: DuckDBConnection, table: string, staging: string): Promise<void> {
  const columns = (await readColumns(connection, table)) ?? [];
  const lines = columns.map(({ name, sqlType, nullable, fallback }) => {
    return `${quoteName(name)} ${sqlType}${nullable ? '' : ' NOT NULL'}${fallback === undefined ? '' : ` DEFAULT (${fallback})`}`;
  });
  lines.push(...(await checksOf(connection, table, columns)));
  await connection.run(`CREATE TABLE ${quoteName(staging)} (${lines.join(', ')})`);
}

/**
 * With them a page is refused, and not the whole at the end. One that names a computed column can
 * only be looked at when rows are replaced.
 */
async function checksOf(
  connection: DuckDBConnection,
  table: string,
  columns: readonly LiveColumn[],
): Promise<string[]> {
  const result = await connection.runAndReadAll(
    `SELECT constraint_text, constraint_column_names FROM duckdb_constraints()
     WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1
       AND constraint_type = 'CHECK'`,
    [table],
  );
  const staged = new Set(columns.map(({ name }) => name));
  return result.getRowsJson().flatMap(([text, names]) => {
    const isStaged = (name: unknown): boolean => typeof name === 'string' && staged.has(name);
    return typeof text === 'string' && Array.isArray(names) && names.every(isStaged) ? [text] : [];
  });
}

async function tablesFrom(connection: DuckDBConnection, prefix: string): Promise<string[]> {
  const result = await connection.runAndReadAll(
    'SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND starts_with(table_name, $1)',
    [prefix],
  );
  return result.getRows().map(([name]) => String(name));
}

async function swap(connection: DuckDBConnection, table: string, staging: string): Promise<void> {
  const live = await readColumns(connection, table);
  if (live === undefined)
    return void (await connection.run(
      `ALTER TABLE ${quoteName(staging)} RENAME TO ${quoteName(table)}`,
    ));
  const staged = new Set((await readColumns(connection, staging))?.map((column) => column.name));
  const names = quoteNames(live.map((column) => column.name).filter((name) => staged.has(name)));
  await connection.run(`DELETE FROM ${quoteName(table)}`);
  await connection.run(
    `INSERT INTO ${quoteName(table)} (${names}) SELECT ${names} FROM ${quoteName(staging)}`,
  );
  await connection.run(`DROP TABLE ${quoteName(staging)}`);
}
