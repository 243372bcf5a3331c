/** Connections to Oracle Database: one statement at a time, its rows as they come. */
import type Client from 'oracledb';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { loadClient } from '../../lib/load-client.ts';
import { untilAborted } from '../../lib/sql/until-aborted.ts';
import { oracleError } from './errors.ts';
import { keepExactMoments } from './exact-moments.ts';
import { connectString, type Endpoint } from './fields.ts';
import {
  resultColumn,
  wantedType,
  type ColumnInfo,
  type ResultColumn,
} from './read/result-types.ts';

export interface LinkOptions {
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for an answer; 0 waits forever. */
  readonly timeoutSecs: number;
  /** Columns of texts that hold JSON. */
  readonly jsonColumns?: readonly string[];
}

/** A value of a statement. Texts keep all digits of a number. */
export type BindValue = string | number | bigint | boolean | Buffer | null;

/** How the values of one place of a statement are sent. */
export interface BindColumn {
  readonly as: 'text' | 'bytes' | 'clob' | 'blob';
  /** The most bytes of a value. */
  readonly bytes: number;
}

/** A value of a row that holds no documents. */
export type Cell = string | number | bigint | boolean | null;

/** Rows of a statement as they come. */
export interface Running {
  readonly columns: readonly ResultColumn[];
  /** The next rows; `undefined` at the end. */
  next(): Promise<readonly (readonly JsonValue[])[] | undefined>;
}

const CONNECT_SECS = 15;
/** A stop takes a second at most. */
const CANCEL_MS = 600;
const FETCH_ROWS = 500;
/** With booleans in statements, and tables. */
const WITH_BOOLEANS = 2_300_000_000;
const WITH_JSON = 2_100_000_000;

/** What of the inside of the client is needed to give a silent server up. */
interface Inside {
  readonly _impl?: { readonly nscon?: { forceDisconnect?(error?: Error): void } };
}

export class Link {
  readonly #client: typeof Client;
  readonly #connection: Client.Connection;
  readonly #options: LinkOptions;
  #isOver = false;
  #isBusy = false;

  private constructor(client: typeof Client, connection: Client.Connection, options: LinkOptions) {
    this.#client = client;
    this.#connection = connection;
    this.#options = options;
  }

  /** The caller closes it. */
  static async open(endpoint: Endpoint, options: LinkOptions): Promise<Link> {
    const { signal } = options;
    signal?.throwIfAborted();
    const { default: client } = await loadClient('oracledb', () => import('oracledb'));
    keepExactMoments();
    try {
      const opening = client.getConnection({
        user: endpoint.username,
        password: endpoint.password,
        connectString: connectString(endpoint),
        stmtCacheSize: STATEMENTS,
        connectTimeout: CONNECT_SECS,
        transportConnectTimeout: CONNECT_SECS,
      } as Client.ConnectionAttributes);
      const connection = await untilAborted(opening, {
        signal,
        // A connection that comes later is of no use to anybody.
        cancel: async () =>
          void opening.then(
            (late) => discard(late),
            () => {},
          ),
      });
      const link = new Link(client, connection, options);
      try {
        await untilAborted(link.run(SESSION), { signal, cancel: () => link.cancel() });
      } catch (error) {
        link.close();
        throw error;
      }
      return link;
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      throw oracleError(error, 'connection failed');
    }
  }

  /** Whether the connection has ended. */
  get isOver(): boolean {
    return this.#isOver || !this.#connection.isHealthy();
  }

  get hasBooleans(): boolean {
    return this.#connection.oracleServerVersion >= WITH_BOOLEANS;
  }

  get hasJson(): boolean {
    return this.#connection.oracleServerVersion >= WITH_JSON;
  }

  /** Runs a query without documents, and takes its whole answer. */
  async ask(sql: string, values: readonly BindValue[] = []): Promise<readonly (readonly Cell[])[]> {
    const running = await this.start(sql, [...values]);
    const rows: (readonly Cell[])[] = [];
    for (;;) {
      const more = await running.next();
      if (more === undefined) return rows;
      rows.push(...(more as readonly (readonly Cell[])[]));
    }
  }

  /** Runs a statement without rows; returns how many it changed. */
  async run(sql: string, values: readonly BindValue[] = []): Promise<number> {
    const { rowsAffected = 0 } = await this.#inTime(
      this.#connection.execute(
        sql,
        values.map((value) => this.#bound(value)),
      ),
    );
    return rowsAffected;
  }

  /** Runs a statement once for each row; returns how many it changed. */
  async runMany(
    sql: string,
    columns: readonly BindColumn[],
    rows: readonly (readonly BindValue[])[],
  ): Promise<number> {
    const { STRING, BUFFER, CLOB, BLOB } = this.#client;
    const types = { text: STRING, bytes: BUFFER, clob: CLOB, blob: BLOB };
    const bindDefs = columns.map(({ as, bytes }) => ({
      type: types[as],
      ...(as === 'clob' || as === 'blob' ? {} : { maxSize: Math.max(bytes, 1) }),
    }));
    const { rowsAffected = 0 } = await this.#inTime(
      this.#connection.executeMany(sql, rows as BindValue[][], { bindDefs }),
    );
    return rowsAffected;
  }

  /** The columns of the result of a statement, which is not run. */
  async describe(sql: string): Promise<readonly ResultColumn[]> {
    const { metaData = [] } = await this.#inTime(this.#connection.getStatementInfo(sql));
    return metaData.map((one) => this.#columnOf(one));
  }

  /** Runs a query whose rows are read as they come. Values by name, or in their order. */
  async start(
    sql: string,
    values: readonly BindValue[] | Readonly<Record<string, BindValue>>,
  ): Promise<Running> {
    const binds = Array.isArray(values)
      ? (values as readonly BindValue[]).map((value) => this.#bound(value))
      : Object.fromEntries(
          Object.entries(values).map(([name, value]) => [name, this.#bound(value)]),
        );
    const { resultSet, metaData = [] } = await this.#inTime(
      this.#connection.execute<unknown[]>(sql, binds as Client.BindParameters, {
        resultSet: true,
        outFormat: this.#client.OUT_FORMAT_ARRAY,
        fetchArraySize: FETCH_ROWS,
        prefetchRows: FETCH_ROWS,
        fetchTypeHandler: (metadata) => wantedType(this.#client, metadata),
      }),
    );
    if (resultSet === undefined)
      throw new ConnectorError('data', 'the query gives no rows: it has to be one that reads', {
        hint: 'use a SELECT; change data outside of the pipeline',
      });
    const columns = metaData.map((one) => this.#columnOf(one));
    let isEnded = false;
    return {
      columns,
      next: async () => {
        if (isEnded) return undefined;
        const rows = await this.#inTime(resultSet.getRows(FETCH_ROWS));
        if (rows.length > 0)
          return rows.map((row) =>
            columns.map(({ decode }, at) => {
              const value = row[at] ?? null;
              return value === null ? null : decode(value);
            }),
          );
        isEnded = true;
        await this.#inTime(resultSet.close());
        return undefined;
      },
    };
  }

  /** A transaction begins with its first statement. */
  begin(): Promise<void> {
    return Promise.resolve();
  }

  commit(): Promise<void> {
    return this.#inTime(this.#connection.commit());
  }

  rollback(): Promise<void> {
    return this.#inTime(this.#connection.rollback());
  }

  /** Ends the statement that is running; the connection with it where the server does not answer. */
  async cancel(): Promise<void> {
    if (this.#isOver || !this.#isBusy) return;
    const ended = this.#ended;
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), CANCEL_MS);
    try {
      await this.#connection.break();
      if ((await Promise.race([ended, late.promise])) === 'late') this.close();
    } catch {
      this.close();
    } finally {
      clearTimeout(timer);
    }
  }

  /** What was not committed is undone by the server. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    discard(this.#connection, this.#isBusy);
  }

  #ended: Promise<unknown> = Promise.resolve();

  /** A server that does not answer in time is given up. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { timeoutSecs } = this.#options;
    this.#isBusy = true;
    this.#ended = work.catch(() => {});
    const late = Promise.withResolvers<never>();
    const timer =
      timeoutSecs === 0
        ? undefined
        : setTimeout(() => {
            void this.cancel();
            late.reject(
              new ConnectorError('timeout', `no answer came for ${timeoutSecs} seconds`, {
                hint: 'raise `statement_timeout_secs`',
              }),
            );
          }, timeoutSecs * 1000);
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      this.#isBusy = false;
      clearTimeout(timer);
    }
  }

  #bound(value: BindValue): Client.BindParameter {
    const { STRING, NUMBER, DB_TYPE_BOOLEAN, BUFFER } = this.#client;
    switch (typeof value) {
      case 'boolean':
        return this.hasBooleans
          ? { type: DB_TYPE_BOOLEAN, val: value }
          : { type: NUMBER, val: value ? 1 : 0 };
      case 'number':
      case 'bigint':
        return { type: NUMBER, val: value };
      default:
        return Buffer.isBuffer(value) ? { type: BUFFER, val: value } : { type: STRING, val: value };
    }
  }

  #columnOf(metadata: ColumnInfo): ResultColumn {
    return resultColumn(metadata, this.#options.jsonColumns);
  }
}

const STATEMENTS = 30;
/** What statements mean must not depend on the language of this machine. */
const SESSION = `ALTER SESSION SET TIME_ZONE = '+00:00' NLS_NUMERIC_CHARACTERS = '.,' NLS_SORT = 'BINARY' NLS_COMP = 'BINARY'`;

/** Closed without a word where the server may not answer. */
function discard(connection: Client.Connection, isBusy = false): void {
  const { _impl: inside } = connection as unknown as Inside;
  if (isBusy) inside?.nscon?.forceDisconnect?.();
  const timer = setTimeout(() => inside?.nscon?.forceDisconnect?.(), CANCEL_MS);
  timer.unref();
  connection.close().then(
    () => clearTimeout(timer),
    () => clearTimeout(timer),
  );
}
