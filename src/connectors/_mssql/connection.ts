/** Connections to SQL Server: one statement at a time, its rows as they come. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Connection, ConnectionConfiguration, Request } from 'tedious';
import { ConnectorError } from '../../lib/errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import { loadClient } from '../../lib/load-client.ts';
import { untilAborted } from '../../lib/sql/until-aborted.ts';
import { codesOf, mssqlError } from './errors.ts';
import { readExactValues } from './exact-values.ts';
import { targetOf, type Endpoint, type Target } from './fields.ts';
import { columnOf, type Cell, type ColumnInfo, type ResultColumn } from './result-types.ts';

type Client = typeof import('tedious');

export interface LinkOptions {
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for the first answer of a statement; 0 waits forever. */
  readonly timeoutSecs: number;
}

/** A value of a statement, called `@` and its name there. Texts keep all digits of a number. */
export interface Parameter {
  readonly name: string;
  readonly type: 'text' | 'whole' | 'float' | 'truth' | 'bytes';
  readonly value: string | number | bigint | boolean | Buffer | null;
}

export interface Answer {
  /** Values in the order of the columns. */
  readonly rows: readonly (readonly Cell[])[];
  /** Rows that the statement changed. */
  readonly changed: number;
}

/** Rows of a statement as they come. */
export interface Running {
  /** Resolves when the columns are known. */
  readonly columns: Promise<readonly ResultColumn[]>;
  /** The next rows; `undefined` at the end. */
  next(): Promise<readonly (readonly Cell[])[] | undefined>;
}

const CONNECT_MS = 15_000;
/** A stop takes a second at most. */
const CANCEL_MS = 600;
const POLL_MS = 10;
/** With this many unread rows, reading from the server is paused. */
const MOST_UNREAD = 500;
/** Longer texts are sent as `nvarchar(max)`; all others alike, so that the server keeps one plan. */
const LONGEST_TEXT = 4000;

export class Link {
  readonly #client: Client;
  readonly #connection: Connection;
  #isOver = false;

  private constructor(client: Client, connection: Connection) {
    this.#client = client;
    this.#connection = connection;
    // A connection that breaks while idle is found by the next statement.
    connection.on('error', () => {});
    connection.on('end', () => (this.#isOver = true));
  }

  /** The caller closes it. */
  static async open(endpoint: Endpoint, options: LinkOptions): Promise<Link> {
    const { signal } = options;
    signal?.throwIfAborted();
    const client = await loadClient('tedious', () => import('tedious'));
    readExactValues();
    const target = targetOf(endpoint);
    try {
      return await connectTo(client, target, options);
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      throw mssqlError(error, 'connection failed');
    }
  }

  static async connect(
    client: Client,
    config: ConnectionConfiguration,
    signal: AbortSignal | undefined,
  ): Promise<Link> {
    const connection = new client.Connection(config);
    const link = new Link(client, connection);
    const connecting = new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error === undefined ? resolve() : reject(error)));
    });
    try {
      await untilAborted(connecting, { signal, cancel: async () => connection.close() });
      return link;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Whether the connection has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs a statement with parameters and takes its whole answer. */
  ask(sql: string, parameters: readonly Parameter[] = []): Promise<Answer> {
    return this.#whole(sql, (request) => {
      this.#bind(request, parameters);
      this.#connection.execSql(request);
    });
  }

  /** Runs a batch: temporary tables that it makes stay until the connection ends. */
  batch(sql: string): Promise<Answer> {
    return this.#whole(sql, (request) => this.#connection.execSqlBatch(request));
  }

  begin(): Promise<void> {
    return this.#transaction((done) => this.#connection.beginTransaction(done));
  }

  commit(): Promise<void> {
    return this.#transaction((done) => this.#connection.commitTransaction(done));
  }

  rollback(): Promise<void> {
    return this.#transaction((done) => this.#connection.rollbackTransaction(done));
  }

  /** Loads rows into a table of texts; the first column is a whole number. */
  load(
    table: string,
    columns: readonly {
      readonly name: string;
      readonly length: number;
      readonly isBytes: boolean;
    }[],
    rows: Iterable<readonly (number | string | Buffer | null)[]>,
  ): Promise<void> {
    const { TYPES } = this.#client;
    return new Promise((resolve, reject) => {
      const load = this.#connection.newBulkLoad(table, { keepNulls: true }, (error) =>
        error === undefined || error === null ? resolve() : reject(error),
      );
      const [first, ...others] = columns;
      load.addColumn(first?.name ?? '', TYPES.Int, { nullable: false });
      for (const { name, length, isBytes } of others)
        load.addColumn(name, isBytes ? TYPES.VarBinary : TYPES.NVarChar, {
          nullable: true,
          length: length > LONGEST_TEXT ? Infinity : LONGEST_TEXT,
        });
      this.#connection.execBulkLoad(load, rows as Iterable<unknown[]>);
    });
  }

  /** Runs a query whose rows are read as they come. */
  start(sql: string, parameters: readonly Parameter[]): Running {
    const columns = Promise.withResolvers<readonly ResultColumn[]>();
    columns.promise.catch(() => {});
    let known: readonly ResultColumn[] | undefined;
    let rows: Cell[][] = [];
    let isOver = false;
    let failure: { readonly error: unknown } | undefined;
    let wake = (): void => {};
    const request = new this.#client.Request(sql, (error) => {
      if (error !== undefined && error !== null) failure = { error };
      isOver = true;
      if (failure === undefined) columns.resolve([]);
      else columns.reject(failure.error);
      wake();
    });
    request.on('columnMetadata', (infos) => {
      if (known !== undefined) {
        failure ??= { error: severalResults() };
        return;
      }
      known = (infos as unknown as readonly ColumnInfo[]).map(columnOf);
      columns.resolve(known);
    });
    request.on('row', (cells: readonly { readonly value: unknown }[]) => {
      if (failure !== undefined) return;
      rows.push(cells.map(({ value }, at) => known?.[at]?.decode(value) ?? null));
      if (rows.length >= MOST_UNREAD) request.pause();
      wake();
    });
    this.#bind(request, parameters);
    this.#connection.execSql(request);
    return {
      columns: columns.promise,
      async next() {
        for (;;) {
          if (failure !== undefined) throw failure.error;
          if (rows.length > 0) {
            const taken = rows;
            rows = [];
            request.resume();
            return taken;
          }
          if (isOver) return undefined;
          await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    };
  }

  /** Ends the statement that is running; the connection with it where the server does not answer. */
  async cancel(): Promise<void> {
    if (this.#isOver || !this.#connection.cancel()) return;
    const busy = this.#connection as unknown as { readonly request?: unknown };
    const until = Date.now() + CANCEL_MS;
    while (!this.#isOver && busy.request !== undefined) {
      if (Date.now() > until) return this.close();
      await pause(POLL_MS);
    }
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // The client fails on the end of an answer for which nobody waits any more.
    this.#connection.cancel();
    this.#connection.close();
  }

  #whole(sql: string, run: (request: Request) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const rows: Cell[][] = [];
      let columns: readonly ResultColumn[] = [];
      const request = new this.#client.Request(sql, (error, changed) => {
        if (error === undefined || error === null) resolve({ rows, changed: changed ?? 0 });
        else reject(error);
      });
      request.on('columnMetadata', (infos) => {
        columns = (infos as unknown as readonly ColumnInfo[]).map(columnOf);
      });
      request.on('row', (cells: readonly { readonly value: unknown }[]) => {
        rows.push(cells.map(({ value }, at) => columns[at]?.decode(value) ?? null));
      });
      run(request);
    });
  }

  #transaction(run: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      run((error) => (error === undefined || error === null ? resolve() : reject(error)));
    });
  }

  #bind(request: Request, parameters: readonly Parameter[]): void {
    const { TYPES } = this.#client;
    for (const { name, type: kind, value } of parameters)
      switch (kind) {
        case 'text': {
          const isLong = typeof value === 'string' && value.length > LONGEST_TEXT;
          request.addParameter(name, TYPES.NVarChar, value, {
            length: isLong ? Infinity : LONGEST_TEXT,
          });
          break;
        }
        case 'whole':
          request.addParameter(name, TYPES.BigInt, value);
          break;
        case 'float':
          request.addParameter(name, TYPES.Float, value);
          break;
        case 'truth':
          request.addParameter(name, TYPES.Bit, value);
          break;
        case 'bytes':
          request.addParameter(name, TYPES.VarBinary, value, { length: Infinity });
          break;
        default:
          kind satisfies never;
      }
  }
}

async function connectTo(client: Client, target: Target, options: LinkOptions): Promise<Link> {
  const { signal } = options;
  const ca = target.caPath === undefined ? undefined : await readCa(target.caPath);
  const config = (tlsType: Target['tlsType']): ConnectionConfiguration =>
    configOf({ ...target, tlsType }, options, ca);
  try {
    return await Link.connect(client, config(target.tlsType), signal);
  } catch (error) {
    const hasNone =
      codesOf(error).code === 'EENCRYPT' && String(error).includes('did not negotiate encryption');
    if (target.tlsType !== 'prefer' || !hasNone) throw error;
    return Link.connect(client, config('disable'), signal);
  }
}

function configOf(
  target: Target,
  { timeoutSecs }: LinkOptions,
  ca: string | undefined,
): ConnectionConfiguration {
  const { host, port, instance, database, login, tlsType, application, connectSecs } = target;
  return {
    server: host,
    authentication: loginOf(login),
    options: {
      ...(port === undefined ? { instanceName: instance } : { port }),
      ...(database === undefined ? {} : { database }),
      encrypt: tlsType === 'strict' ? 'strict' : tlsType !== 'disable',
      trustServerCertificate: tlsType === 'prefer' || tlsType === 'trust_server_certificate',
      ...(ca === undefined ? {} : { cryptoCredentialsDetails: { ca } }),
      appName: application ?? 'headgate',
      connectTimeout: connectSecs === undefined ? CONNECT_MS : connectSecs * 1000,
      requestTimeout: timeoutSecs * 1000,
      cancelTimeout: CANCEL_MS,
      // Whether to try again is decided by who runs the document.
      maxRetriesOnTransientErrors: 0,
      rowCollectionOnRequestCompletion: false,
      useColumnNames: false,
      lowerCaseGuids: true,
      useUTC: true,
      enableArithAbort: true,
    },
  };
}

function loginOf(login: Target['login']): NonNullable<ConnectionConfiguration['authentication']> {
  switch (login.type) {
    case 'password':
      return { type: 'default', options: { userName: login.user, password: login.password } };
    case 'entra_default':
      return { type: 'azure-active-directory-default', options: {} };
    case 'entra_identity':
      return {
        type: 'azure-active-directory-msi-vm',
        options: login.clientId === undefined ? {} : { clientId: login.clientId },
      };
    default:
      return login satisfies never;
  }
}

async function readCa(path: string): Promise<string> {
  try {
    return await readFile(permittedFile(path), 'utf8');
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('missing', '`ca_cert_path` names a file that cannot be read', {
      cause: error,
    });
  }
}

function severalResults(): ConnectorError {
  return new ConnectorError('data', 'the query gives more than one result', {
    hint: 'write one SELECT; several sources read several results',
  });
}
