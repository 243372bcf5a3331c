/**
 * The embedded analytical engine. It is loaded on first use: other runs start faster and do not
 * need it installed.
 */
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBValue,
} from '@duckdb/node-api';
import { ConnectorError, messageOf } from '../errors.ts';
import { filesRoot, permittedFile } from '../files/file-access.ts';
import { duckdbError, firstLine } from './duckdb-errors.ts';
import { jsonReader } from './duckdb-values.ts';
import { setField, stringifyJson, type JsonObject, type JsonValue } from '../text/json.ts';
import { lazyLibrary } from '../lazy.ts';

export type {
  DuckDBConnection,
  DuckDBPreparedStatement as DuckdbStatement,
} from '@duckdb/node-api';

const PACKAGE = '@duckdb/node-api';
const library = lazyLibrary<typeof import('@duckdb/node-api')>(PACKAGE);
/** The part of the library that reads texts. It has no setting for them. */
const textReading = lazyLibrary<{ textDecoder: InstanceType<typeof TextDecoder> }>(
  `${PACKAGE}/lib/vectors/dataAccessors.js`,
);
let keepsMarks = false;

/** Rows that a chunk, the engine's unit of work, holds at most. */
export const CHUNK_ROWS = 2048;

/** The engine's library; says what to install when it is not there. */
export function duckdbLibrary(): ReturnType<typeof library> {
  try {
    const loaded = library();
    if (!keepsMarks) {
      // A text may begin with U+FEFF, which decoders otherwise take for a mark of its encoding.
      textReading().textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
      keepsMarks = true;
    }
    return loaded;
  } catch (error) {
    throw new ConnectorError(
      'missing',
      `the analytical engine cannot be loaded: ${firstLine(messageOf(error))}`,
      {
        hint: `install the optional package \`${PACKAGE}\`: npm install ${PACKAGE}`,
        cause: error,
      },
    );
  }
}

/** Whether the optional package is there; loads it. */
export function hasDuckdb(): boolean {
  try {
    library();
    return true;
  } catch {
    return false;
  }
}

export interface Duckdb {
  readonly connection: DuckDBConnection;
  /** Opens another connection to the same database, which can be used at the same time. */
  readonly connect: () => Promise<DuckDBConnection>;
  /** Closes every connection. Never throws. */
  readonly close: () => void;
}

/**
 * Opens a database and one connection. A file is opened once a process, however many rows use it;
 * `:memory:` is always a new one.
 */
export async function openDuckdb(
  path: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Duckdb> {
  const { DuckDBInstance } = duckdbLibrary();
  let instance: DuckDBInstance | undefined;
  try {
    if (path !== ':memory:') permittedFile(path);
    instance =
      path === ':memory:'
        ? await DuckDBInstance.create(path, { ...settings })
        : await DuckDBInstance.fromCache(path, { ...settings });
    const opened = instance;
    await confine(opened);
    const connections: DuckDBConnection[] = [];
    const connect = async (): Promise<DuckDBConnection> => {
      const connection = await opened.connect();
      connections.push(connection);
      return connection;
    };
    return {
      connection: await connect(),
      connect,
      close() {
        for (const connection of connections) connection.closeSync();
        opened.closeSync();
      },
    };
  } catch (error) {
    instance?.closeSync();
    throw duckdbError(error, 'connection failed');
  }
}

/**
 * Limits the files that statements can open. A statement cannot change these settings, and a
 * database that is already open has them.
 */
async function confine(instance: DuckDBInstance): Promise<void> {
  const root = filesRoot();
  if (root === undefined) return;
  const connection = await instance.connect();
  try {
    if (!(await readsAnyFile(connection))) return;
    await connection.run(`SET allowed_directories = [${quoteText(root)}]`);
    await connection.run('SET enable_external_access = false');
  } finally {
    connection.closeSync();
  }
}

export async function readsAnyFile(connection: DuckDBConnection): Promise<boolean> {
  const setting = await connection.runAndReadAll(
    `SELECT current_setting('enable_external_access')`,
  );
  return setting.getRows()[0]?.[0] === true;
}

/**
 * An interruption between two statements has no effect, so it is repeated until the work has ended.
 */
const INTERRUPT_EVERY_MS = 50;

/**
 * Does the work on a connection; when the signal fires, the statement at hand is interrupted and
 * the reason of the signal thrown.
 */
export async function interruptible<T>(
  connection: DuckDBConnection,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    connection.interrupt();
    timer = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  };
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
    clearInterval(timer);
  }
}

/** Prepares one statement and binds values in order; more than one statement is refused. */
export async function prepareDuckdb(
  connection: DuckDBConnection,
  sql: string,
  values: readonly JsonValue[] = [],
): Promise<DuckDBPreparedStatement> {
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) {
    const message =
      statements.count === 0 ? 'the query is empty' : 'the query holds more than one statement';
    throw new ConnectorError('data', message, {
      hint: 'write one statement; its rows are the records',
    });
  }
  const statement = await statements.prepare(0);
  if (values.length > 0) statement.bind(values.map(toParameter));
  return statement;
}

/** All rows of a statement with a small answer. */
export async function duckdbRows(
  connection: DuckDBConnection,
  sql: string,
  values: readonly JsonValue[] = [],
): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  const result = await (await prepareDuckdb(connection, sql, values)).stream();
  for await (const some of duckdbRecords(connection, result)) rows.push(...some);
  return rows;
}

/**
 * The rows of a result as records, some at a time; `exact` columns as `jsonReader` says. A reader that leaves earlier must end the
 * generator: a result that is not read to its end keeps the file open, and opening it again would
 * wait for ever.
 */
export async function* duckdbRecords(
  connection: DuckDBConnection,
  result: DuckDBResult,
  { exact = () => false }: { readonly exact?: (column: string) => boolean } = {},
): AsyncGenerator<JsonObject[]> {
  const names = result.columnNames();
  const readers = result
    .columnTypes()
    .map((type, index) => jsonReader(type, exact(names[index] ?? '')));
  let left = true;
  try {
    for (let chunk = await nextChunk(result); chunk !== null; chunk = await nextChunk(result)) {
      const { rowCount } = chunk;
      const columns = readers.map((read, index) => chunk?.getColumnValues(index).map(read) ?? []);
      yield Array.from({ length: rowCount }, (_, row) => {
        const record: JsonObject = {};
        for (const [index, name] of names.entries())
          setField(record, name, columns[index]?.[row] ?? null);
        return record;
      });
    }
    left = false;
  } finally {
    if (left) await abandon(connection, result);
  }
}

async function nextChunk(result: DuckDBResult): Promise<DuckDBDataChunk | null> {
  const chunk = await result.fetchChunk();
  return chunk === null || chunk.rowCount === 0 ? null : chunk;
}

/** Ends the statement; rows that are ready are delivered first. */
async function abandon(connection: DuckDBConnection, result: DuckDBResult): Promise<void> {
  try {
    do connection.interrupt();
    while ((await nextChunk(result)) !== null);
  } catch {
    // The interruption itself, or the error that the reader already got.
  }
}

function toParameter(value: JsonValue): DuckDBValue {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'object' && value !== null ? stringifyJson(value) : value;
}

/** A column of values on the way into the engine. */
export interface DuckdbColumn {
  readonly type: 'BOOLEAN' | 'BIGINT' | 'DOUBLE' | 'VARCHAR';
  readonly values: readonly (boolean | bigint | number | string | null)[];
}

/**
 * Makes a temporary table of columns `c0`, `c1`, … with these values, in the place of one with the
 * same name.
 */
export async function fillDuckdbTable(
  connection: DuckDBConnection,
  table: string,
  columns: readonly DuckdbColumn[],
): Promise<void> {
  const { DuckDBDataChunk, ...types } = duckdbLibrary();
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE ${table} (${columns.map(({ type }, index) => `c${index} ${type}`).join(', ')})`,
  );
  const rows = columns[0]?.values.length ?? 0;
  const appender = await connection.createAppender(table, 'main', 'temp');
  for (let from = 0; from < rows; from += CHUNK_ROWS) {
    const to = Math.min(rows, from + CHUNK_ROWS);
    const chunk = DuckDBDataChunk.create(
      columns.map(({ type }) => types[type]),
      to - from,
    );
    for (const [index, { values }] of columns.entries())
      chunk.setColumnValues(index, values.slice(from, to));
    appender.appendDataChunk(chunk);
  }
  appender.closeSync();
}

/** A text as an SQL literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
