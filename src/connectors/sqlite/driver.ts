import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate as pause } from 'node:timers/promises';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ConnectorError } from '../../lib/errors.ts';
import { onConflict, quoteName, quoteNames } from '../../lib/sql/sql-name.ts';
import {
  inTransaction,
  MEMORY,
  openSqlite,
  parseSqliteUrl,
  rollBack,
  sqliteError,
} from '../../lib/sql/sqlite.ts';
import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { fieldOf, type RecordSchema } from '../../kit/record-schema.ts';
import { isBase64 } from '../../kit/typed-values.ts';
import {
  TOKEN_TABLE,
  type CommitToken,
  type LiveColumn,
  type RowSet,
  type SqlDriver,
  type TableChange,
  type TableSweep,
  type RollbackSession,
  type WholeChange,
} from '../_sql/driver.ts';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
  type HeldScope,
} from '../../kit/execution.ts';
import { nearColumn, type UnknownFields } from '../_sql/column-names.ts';
import { withRefusedRow } from '../_sql/refused-row.ts';
import { keysOf } from '../_sql/row-sets.ts';
import type { SqliteSinkConfig } from './config.ts';
import {
  addRollbackFunctions,
  emptyKeys,
  ROLLBACK_DIALECT,
  logKeys,
  logReplaced,
  logRows,
  createRollbackLog,
} from './rollback-log.ts';
import { AttachCopy } from '../../fast/sqlite/attach-copy.ts';
import { rowsOfPage } from '../../fast/sqlite/row-blocks.ts';
import { roundingOf } from './rounding.ts';
import { declaredType, isReal } from './column-types.ts';
import { stage } from './stage.ts';
import { readColumns } from './schema.ts';
import { withoutStored } from './stored-types.ts';
import { writeLockOf } from './write-lock.ts';
import { sqliteFieldValue, toSqlite } from '../../lib/sql/sqlite-values.ts';
import type { JsonValue } from '../../lib/text/json.ts';

/** Rows written between two pauses when `batch_size` sets no bound. */
const PAUSE_EVERY = 10_000;
const NAMES = { ignoresCase: true, takesEmpty: true };

export function openSqliteDriver(config: SqliteSinkConfig, context: SinkContext): SqlDriver {
  const connect = (): DatabaseSync =>
    prepared(openSqlite(config.database_url, { mode: 'rwc', cwd: context.env.cwd }));
  const file = fileOf(config, context);
  const db = context.onlyReads === true ? openToRead(file, context) : connect();
  const attachCopy =
    file === undefined || config.column_mapping.kind !== 'auto'
      ? undefined
      : new AttachCopy(file, connect);
  const lock = writeLockOf(file);
  const pauseEvery = config.batch_size === 0 ? PAUSE_EVERY : config.batch_size;

  const run = async <T>(doing: string, work: () => T | Promise<T>): Promise<T> => {
    const release = await lock.enter();
    try {
      return await work();
    } catch (error) {
      throw error === context.signal.reason ? error : sqliteError(error, doing);
    } finally {
      release();
    }
  };

  return {
    names: NAMES,
    roundingOf,
    schemaFor: withoutStored(),
    columns: (table) => run(`reading the columns of \`${table}\``, () => readColumns(db, table)),
    // A stage has said the type: the value is no longer the one that was read.
    take: (record, field, isTyped) =>
      stored(isTyped ? toSqlite(record[field] ?? null) : sqliteFieldValue(record, field)),
    createTable: (table, columns, { key, records }) =>
      run(`making the table \`${table}\``, () => {
        const lines = columns.map(
          (column) => `${quoteName(column.name)} ${declaredType(column, records)}`,
        );
        if (key.length > 0) lines.push(`PRIMARY KEY (${quoteNames(key)})`);
        db.exec(`CREATE TABLE IF NOT EXISTS ${quoteName(table)} (${lines.join(', ')})`);
      }),
    apply: (change) =>
      run(`writing to \`${change.table}\``, () =>
        apply(db, change, { pauseEvery, signal: context.signal }),
      ),
    pass: (table, page, options) =>
      run(`writing to \`${table}\``, () => {
        const live = attachCopy === undefined ? undefined : readColumns(db, table);
        const unknown = unknownColumns(page, live);
        if (attachCopy === undefined || live === undefined || unknown === undefined)
          return undefined;
        const finish = (open: DatabaseSync): void => {
          if (options.commit !== undefined) storeToken(open, options.commit);
        };
        const isDone = attachCopy.write(page, {
          table,
          live: live.map(({ name }) => name),
          real: live.filter(({ sqlType }) => isReal(sqlType)).map(({ name }) => name),
          numeric: live
            .filter((column) => roundingOf(column) !== undefined)
            .map(({ name }) => name),
          key: options.key,
          finish,
        });
        return isDone ? { unknown } : undefined;
      }),
    sweep: (one) =>
      run(`removing rows of \`${one.table}\``, () =>
        sweep(db, one, { pauseEvery, signal: context.signal }),
      ),
    lastToken: (scope, execution) =>
      run('reading the commit token', () => {
        if (execution !== undefined) takeScope(db, scope, execution);
        return lastToken(db, scope);
      }),
    forgetToken: (scope) => run('removing the commit token', () => setToken(db, scope, undefined)),
    evolve: (table, change, records) =>
      run(`changing the table \`${table}\``, () => {
        const present = new Set(readColumns(db, table)?.map((column) => column.name));
        inTransaction(db, () => {
          for (const column of change.add.filter((one) => !present.has(one.name))) {
            const line = `${quoteName(column.name)} ${declaredType(column, records)}`;
            db.exec(`ALTER TABLE ${quoteName(table)} ADD COLUMN ${line}`);
          }
        });
      }),
    tablesFrom: (prefix) =>
      run('looking for tables that other runs left', () => tablesFrom(db, prefix)),
    stage: (table, staging) => run(`staging \`${table}\``, () => stage(db, table, staging)),
    fenced: true,
    swap: (table, staging, how) =>
      run(`replacing \`${table}\``, () => swap(db, table, staging, how)),
    rollback: {
      dialect: ROLLBACK_DIALECT,
      createRollbackLog: () => run('making the rollback log', () => createRollbackLog(db)),
      atOnce: ({ table, held }, work) =>
        run(`rolling back a run of \`${table}\``, () => atOnce(db, held, work)),
    },
    drop: (table, held) =>
      run(`dropping \`${table}\``, () =>
        inTransaction(db, () => {
          requireHeld(db, held);
          db.exec(`DROP TABLE IF EXISTS ${quoteName(table)}`);
        }),
      ),
    close() {
      attachCopy?.close();
      if (db.isOpen) db.close();
      lock.leave();
      return Promise.resolve();
    },
  };
}

/**
 * The columns of the page that the table does not have; `undefined` when the names need the look at
 * single records.
 */
function unknownColumns(
  page: Page,
  live: readonly LiveColumn[] | undefined,
): UnknownFields | undefined {
  const names = live?.map(({ name }) => name) ?? [];
  const unknown = (rowsOfPage(page)?.source.columns ?? [])
    .map(({ name }) => name)
    .filter((name) => !names.includes(name));
  return unknown.some((name) => nearColumn(name, names, NAMES) !== undefined)
    ? undefined
    : new Map(unknown.map((name) => [name, page.count]));
}

/** A file that is not there stays so; in the place of it stands an empty database. */
function openToRead(file: string | undefined, { env: { cwd } }: SinkContext): DatabaseSync {
  const isThere = file !== undefined && existsSync(file);
  return openSqlite(`sqlite:${isThere ? file : MEMORY}`, { mode: 'ro', cwd });
}

function prepared(db: DatabaseSync): DatabaseSync {
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    addRollbackFunctions(db);
    return db;
  } catch (error) {
    db.close();
    throw sqliteError(error, 'connection failed');
  }
}

/** The absolute path; `undefined` when the database is in memory. */
function fileOf(config: SqliteSinkConfig, { env }: SinkContext): string | undefined {
  const address = parseSqliteUrl(config.database_url);
  return 'error' in address || address.path === MEMORY ? undefined : resolve(env.cwd, address.path);
}

interface Pace {
  readonly pauseEvery: number;
  readonly signal: AbortSignal;
}

async function apply(db: DatabaseSync, change: TableChange, pace: Pace): Promise<void> {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (change.loggedFor !== undefined)
      await logChanged(db, change, { runId: change.loggedFor, pace });
    if (change.deletesBefore !== undefined)
      await runAll(prepareDelete(db, change), asStored(change.deletesBefore), pace);
    for (const set of change.writes) {
      await runAll(prepareWrite(db, change, set), withBytes(set, change.schema), pace);
    }
    if (change.deletes.length > 0)
      await runAll(prepareDelete(db, change), asStored(change.deletes), pace);
    if (change.commit !== undefined) storeToken(db, change.commit);
    db.exec('COMMIT');
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Stores the rows that a page will change. */
async function logChanged(
  db: DatabaseSync,
  change: TableChange,
  { runId, pace }: { runId: string; pace: Pace },
): Promise<void> {
  const { table, key } = change;
  const keys = asStored(keysOf(change));
  await runAll(db.prepare(emptyKeys(db, key)), keys, pace);
  logKeys(db, { table, runId, key });
}

async function atOnce<T>(
  db: DatabaseSync,
  held: HeldScope | undefined,
  work: (session: RollbackSession) => Promise<T>,
): Promise<T> {
  db.exec('BEGIN IMMEDIATE');
  try {
    requireHeld(db, held);
    const result = await work({
      run: (sql, values = []) => Promise.resolve(Number(db.prepare(sql).run(...values).changes)),
      all: (sql, values = []) => Promise.resolve(db.prepare(sql).all(...values)),
      columns: (table) => Promise.resolve(readColumns(db, table)),
      setToken: (scope, token) => Promise.resolve(setToken(db, scope, token)),
    });
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

type StoredValues = readonly SQLInputValue[];

/** The rows of a change hold what `take` made: values as SQLite binds them. */
function stored(value: SQLInputValue): JsonValue {
  return value as unknown as JsonValue;
}

function asStored(rows: readonly (readonly JsonValue[])[]): readonly StoredValues[] {
  return rows as unknown as readonly StoredValues[];
}

/** Bytes that a schema knows as such go into columns without text affinity as BLOBs. */
function withBytes(
  { columns, rows }: RowSet,
  schema: RecordSchema | undefined,
): readonly StoredValues[] {
  const values = asStored(rows);
  const binary = columns.map(
    ({ name, sqlType }) =>
      (sqlType === '' || /blob/i.test(sqlType)) && fieldOf(schema, name)?.type.kind === 'binary',
  );
  if (!binary.includes(true)) return values;
  return values.map((row) =>
    row.map((value, place) =>
      binary[place] === true && typeof value === 'string' && isBase64(value)
        ? Buffer.from(value, 'base64')
        : value,
    ),
  );
}

/** Runs a statement for every row, with pauses for other work. */
async function runAll(
  statement: StatementSync,
  rows: readonly StoredValues[],
  { pauseEvery, signal }: Pace,
): Promise<void> {
  for (const [index, row] of rows.entries()) {
    try {
      statement.run(...row);
    } catch (error) {
      throw withRefusedRow(error, index);
    }
    if ((index + 1) % pauseEvery !== 0) continue;
    await pause();
    signal.throwIfAborted();
  }
}

function prepareWrite(
  db: DatabaseSync,
  { table, key, mode }: TableChange,
  { columns }: RowSet,
): StatementSync {
  const names = columns.map((column) => column.name);
  const insert = `INSERT INTO ${quoteName(table)} (${quoteNames(names)}) VALUES (${names.map(() => '?').join(', ')})`;
  if (mode === 'insert') return db.prepare(insert);
  const keys = key.map((column) => column.name);
  try {
    return db.prepare(`${insert} ON CONFLICT (${quoteNames(keys)}) ${onConflict(names, keys)}`);
  } catch (error) {
    throw missingIndex(error, table, keys) ?? error;
  }
}

function missingIndex(
  error: unknown,
  table: string,
  keys: readonly string[],
): ConnectorError | undefined {
  if (!(error instanceof Error) || !error.message.includes('ON CONFLICT clause does not match'))
    return undefined;
  return new ConnectorError(
    'data',
    `\`${table}\` has no unique index on (${keys.join(', ')}), which an upsert needs`,
    {
      hint: `CREATE UNIQUE INDEX ${quoteName(`${table}_key`)} ON ${quoteName(table)} (${quoteNames(keys)})`,
      cause: error,
    },
  );
}

function prepareDelete(db: DatabaseSync, { table, key }: TableChange): StatementSync {
  return db.prepare(
    `DELETE FROM ${quoteName(table)} WHERE ${key.map((column) => `${quoteName(column.name)} = ?`).join(' AND ')}`,
  );
}

const SWEEP_KEYS = 'svc_cleanup_keys';

/**
 * The keys are put into a table with the column types of the key, so that they are compared like
 * the rows.
 */
async function sweep(
  db: DatabaseSync,
  { table, scope, key, keys, loggedFor, held }: TableSweep,
  pace: Pace,
): Promise<number> {
  const slots = key.map((_, index) => `k${index}`);
  const columns = key.map(({ sqlType }, index) => `k${index} ${sqlType}`);
  const inside = scope.map(({ column }) => `t.${quoteName(column.name)} IS ?`);
  const same = key.map(({ name }, index) => `s.k${index} = t.${quoteName(name)}`);
  db.exec(`DROP TABLE IF EXISTS temp.${SWEEP_KEYS}; BEGIN IMMEDIATE`);
  try {
    requireHeld(db, held);
    db.exec(
      `CREATE TEMP TABLE ${SWEEP_KEYS} (${columns.join(', ')}, PRIMARY KEY (${slots.join(', ')}))`,
    );
    const insert = db.prepare(
      `INSERT OR IGNORE INTO temp.${SWEEP_KEYS} VALUES (${slots.map(() => '?').join(', ')})`,
    );
    await runAll(
      insert,
      keys.map((values) => values.map(toSqlite)),
      pace,
    );
    const vanished = `NOT EXISTS (SELECT 1 FROM temp.${SWEEP_KEYS} AS s WHERE ${same.join(' AND ')})`;
    const where = [...inside, vanished].join(' AND ');
    const values = scope.map(({ value }) => toSqlite(value));
    if (loggedFor !== undefined) logRows(db, { table, runId: loggedFor, key }, where, values);
    const { changes } = db
      .prepare(`DELETE FROM ${quoteName(table)} AS t WHERE ${where}`)
      .run(...values);
    db.exec(`DROP TABLE temp.${SWEEP_KEYS}; COMMIT`);
    return Number(changes);
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** From now on only this execution commits in the scope. */
function takeScope(db: DatabaseSync, scope: string, execution: Execution): void {
  const name = executionScope(scope);
  inTransaction(db, () => {
    if (isLater(lastToken(db, name), execution)) throw takenOverError(scope);
    putToken(db, { scope: name, token: executionText(execution) });
  });
}

/** To be called in a transaction that writes: nobody takes the scope before it ends. */
function requireHeld(db: DatabaseSync, held: HeldScope | undefined): void {
  if (held === undefined) return;
  const { scope, execution } = held;
  if (lastToken(db, executionScope(scope)) !== executionText(execution))
    throw takenOverError(scope);
}

function storeToken(db: DatabaseSync, commit: CommitToken): void {
  const { scope, execution } = commit;
  if (execution !== undefined) requireHeld(db, { scope, execution });
  putToken(db, commit);
}

function putToken(db: DatabaseSync, { scope, token }: CommitToken): void {
  db.exec(
    `CREATE TABLE IF NOT EXISTS ${TOKEN_TABLE} (scope TEXT PRIMARY KEY, token TEXT NOT NULL, updated_at TEXT NOT NULL)`,
  );
  db.prepare(
    `INSERT INTO ${TOKEN_TABLE} (scope, token, updated_at) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))
     ON CONFLICT (scope) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at`,
  ).run(scope, token);
}

function lastToken(db: DatabaseSync, scope: string): string | undefined {
  if (readColumns(db, TOKEN_TABLE) === undefined) return undefined;
  const row = db.prepare(`SELECT token FROM ${TOKEN_TABLE} WHERE scope = ?`).get(scope);
  return row === undefined ? undefined : String(row['token']);
}

function setToken(db: DatabaseSync, scope: string, token: string | undefined): void {
  if (token !== undefined) storeToken(db, { scope, token });
  else if (readColumns(db, TOKEN_TABLE) !== undefined)
    db.prepare(`DELETE FROM ${TOKEN_TABLE} WHERE scope = ?`).run(scope);
}

function tablesFrom(db: DatabaseSync, prefix: string): string[] {
  const rows = db
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, length(?1)) = ?1",
    )
    .all(prefix);
  return rows.map(({ name }) => String(name));
}

function swap(
  db: DatabaseSync,
  table: string,
  staging: string,
  { loggedFor, held }: WholeChange,
): void {
  inTransaction(db, () => {
    requireHeld(db, held);
    if (loggedFor !== undefined) logReplaced(db, table, loggedFor);
    const live: readonly LiveColumn[] | undefined = readColumns(db, table);
    if (live === undefined) {
      db.exec(`ALTER TABLE ${quoteName(staging)} RENAME TO ${quoteName(table)}`);
      return;
    }
    const staged = new Set(readColumns(db, staging)?.map((column) => column.name));
    const names = quoteNames(live.map((column) => column.name).filter((name) => staged.has(name)));
    db.exec(
      `DELETE FROM ${quoteName(table)};
       INSERT INTO ${quoteName(table)} (${names}) SELECT ${names} FROM ${quoteName(staging)};
       DROP TABLE ${quoteName(staging)}`,
    );
  });
}
