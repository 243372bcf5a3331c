/** PostgreSQL connections: loads the client when needed, converts errors, and cancels queries. */
import { connect, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientBase, ClientConfig, Pool, PoolClient, PoolConfig } from 'pg';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { contextOf, isRefusal } from './postgres-context.ts';
import { StatementLimit, type StatementTime } from './statement-limit.ts';
import { untilAborted } from './until-aborted.ts';
import { permittedFile } from '../files/file-access.ts';

/** What is wrong with an address, or `undefined`. */
export function postgresUrlFault(url: string): string | undefined {
  if (URL.canParse(url) && /^postgres(ql)?:\/\//.test(url)) return undefined;
  return 'this is not an address of PostgreSQL; write `postgres://user:password@host:port/database`';
}

export interface ConnectOptions {
  readonly url: string;
  readonly connectTimeoutMs?: number;
  /** Stops waiting for the connection. */
  readonly signal?: AbortSignal;
}

function settings({ url, connectTimeoutMs = 10_000 }: ConnectOptions) {
  permitCertificates(url);
  return {
    connectionString: withPlainSslMode(url),
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'headgate',
    keepAlive: true,
  };
}

/** The client reads the files that an address names. */
function permitCertificates(url: string): void {
  if (!/[?&]ssl/i.test(url) || !URL.canParse(url)) return;
  const { searchParams } = new URL(url);
  for (const name of ['sslcert', 'sslkey', 'sslrootcert'])
    for (const path of searchParams.getAll(name)) permittedFile(path);
}

/** The client treats these modes alike, and prints a warning of several lines about all but one. */
function withPlainSslMode(url: string): string {
  return url.includes('uselibpqcompat=')
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/**
 * Called by a socket that reads into one buffer; the bytes are valid until the listener returns.
 * Without a listener they come as `data`.
 */
export const BYTES = 'bytes';
const READ_BYTES = 256 * 1024;

/**
 * A socket that does not allocate a buffer for every read: a result of a million rows would need
 * thousands of them.
 */
function socketInPlace(): Socket {
  const socket: Socket = new Socket({
    onread: {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback(length, buffer) {
        const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length);
        if (!socket.emit(BYTES, bytes)) socket.emit('data', Buffer.from(bytes));
        return true;
      },
    },
  });
  return socket;
}

/** Encryption replaces the socket's own reading. */
function mayEncrypt(url: string): boolean {
  return process.env['PGSSLMODE'] !== undefined || /[?&]ssl/i.test(url);
}

export interface ClientOptions extends ConnectOptions {
  /** For results that are read off the socket. */
  readonly bulk?: boolean;
  /** Settings of this connection, as the client names them; its types lack `replication`. */
  readonly client?: ClientConfig & { readonly replication?: string };
}

/** One connection. The caller ends it. */
export async function connectPostgres(options: ClientOptions): Promise<Client> {
  const { default: pg } = await import('pg');
  try {
    const inPlace = options.bulk === true && !mayEncrypt(options.url);
    const client = new pg.Client({
      ...settings(options),
      ...options.client,
      ...(inPlace ? { stream: socketInPlace } : {}),
    });
    // A connection that breaks while idle is found by the next query.
    client.on('error', () => {});
    await untilAborted(client.connect(), {
      signal: options.signal,
      cancel: async () => void client.end().catch(() => {}),
    });
    return client;
  } catch (error) {
    const { signal } = options;
    throw signal?.aborted === true && error === signal.reason
      ? error
      : postgresError(error, 'connection failed');
  }
}

/** Settings of every connection of a pool, as the client names them. */
export type SessionSettings = Pick<
  PoolConfig,
  | 'pipeline'
  | 'statement_timeout'
  | 'query_timeout'
  | 'idle_in_transaction_session_timeout'
  | 'application_name'
  | 'options'
>;

const TIMES = new WeakMap<Pool, StatementTime>();

/** A pool; connections are made when first needed. */
export async function openPostgresPool(
  options: ConnectOptions & {
    readonly max: number;
    readonly session?: SessionSettings;
    /** Holds for everything that is done with its connections. */
    readonly time?: StatementTime;
  },
): Promise<Pool> {
  const { default: pg } = await import('pg');
  try {
    const pool = new pg.Pool({ ...settings(options), ...options.session, max: options.max });
    pool.on('error', () => {});
    // One that breaks between two queries of its user is found by the second one.
    pool.on('connect', (client) => client.on('error', () => {}));
    if (options.time !== undefined) TIMES.set(pool, options.time);
    return pool;
  } catch (error) {
    throw postgresError(error, 'connection failed');
  }
}

interface WithClient {
  readonly doing: string;
  readonly signal?: AbortSignal;
}

/** A connection of a pool that is in use until it is released. */
export interface Lent {
  readonly client: PoolClient;
  /**
   * Runs one task on it, which is cancelled on the server when the signal fires. Errors are
   * converted to ours.
   */
  do<T>(doing: string, work: () => Promise<T>): Promise<T>;
  /** Returns it to the pool, or closes it when its state is unknown. */
  release(): void;
}

/**
 * Lends a connection of the pool. One that failed as a connection, or was told to stop, is not used
 * again.
 */
export async function lend(pool: Pool, signal: AbortSignal | undefined): Promise<Lent> {
  const client = await borrow(pool, signal);
  let broken = false;
  return {
    client,
    async do(doing, work) {
      using limit = new StatementLimit(signal, doing, TIMES.get(pool));
      try {
        const working = work();
        return await untilAborted(working, {
          signal: limit.signal,
          cancel: () => cancelStatement(client, working),
        });
      } catch (error) {
        const isStopped = limit.signal?.aborted === true;
        broken ||= isStopped || isBroken(error);
        throw isStopped && error === limit.signal.reason ? error : postgresError(error, doing);
      }
    },
    release: () => client.release(broken),
  };
}

/** Lends a connection of the pool for one thing. */
export async function withClient<T>(
  pool: Pool,
  options: WithClient,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const lent = await lend(pool, options.signal);
  try {
    return await lent.do(options.doing, () => work(lent.client));
  } finally {
    lent.release();
  }
}

async function borrow(pool: Pool, signal: AbortSignal | undefined): Promise<PoolClient> {
  signal?.throwIfAborted();
  const connecting = pool.connect();
  // A connection that arrives after the caller gave up goes back to the pool.
  const giveBack = async (): Promise<void> =>
    void connecting.then((late) => late.release()).catch(() => {});
  try {
    return await untilAborted(connecting, { signal, cancel: giveBack });
  } catch (error) {
    throw signal?.aborted === true && error === signal.reason
      ? error
      : postgresError(error, 'connection failed');
  }
}

/** Runs `work` in a transaction. */
export async function inPostgresTransaction<T>(
  client: ClientBase,
  work: () => Promise<T>,
): Promise<T> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // The first error is the one to report; a connection that cannot roll back is closed.
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

const CANCEL_AGAIN_MS = 100;
const CANCEL_TRIES = 7;

/**
 * Asks the server to end what a connection is doing, until `work` has ended or a moment has passed.
 * A request that overtakes its statement is lost, so one is not enough.
 */
export async function cancelStatement(client: ClientBase, work: Promise<unknown>): Promise<void> {
  const ended = work.then(
    () => true,
    () => true,
  );
  for (let tries = 0; tries < CANCEL_TRIES; tries += 1) {
    sendCancel(client);
    if (await Promise.race([ended, delay(CANCEL_AGAIN_MS, false)])) return;
  }
}

/** Data that the server sent when the connection was made. */
interface Backend {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

const CANCEL_REQUEST = 80_877_102;

/**
 * A cancel request needs no login and no free connection; it carries the key the server gave this
 * connection.
 */
function sendCancel(client: ClientBase): void {
  const { host, port, processID, secretKey } = client as unknown as Backend;
  if (processID === null || secretKey === null) return;
  const request = Buffer.alloc(16);
  for (const [index, part] of [request.length, CANCEL_REQUEST, processID, secretKey].entries())
    request.writeInt32BE(part, index * 4);
  const socket = connect(
    host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
  );
  socket.setTimeout(CANCEL_AGAIN_MS * CANCEL_TRIES, () => socket.destroy());
  socket.on('error', () => {});
  socket.end(request);
}

const BY_STATE: readonly (readonly [string, ConnectorErrorKind])[] = [
  ['08', 'connection'],
  ['28', 'auth'],
  ['3D', 'missing'],
  ['3F', 'missing'],
  ['42P01', 'missing'],
  ['42703', 'missing'],
  ['42883', 'missing'],
  ['42501', 'refused'],
  ['25006', 'refused'],
  ['53300', 'connection'],
  ['53', 'refused'],
  ['57014', 'timeout'],
  ['57P', 'connection'],
  ['55P03', 'timeout'],
  ['40', 'timeout'],
  ['0A', 'refused'],
];

const BY_CODE: Readonly<Record<string, ConnectorErrorKind>> = {
  ECONNREFUSED: 'connection',
  ECONNRESET: 'connection',
  EPIPE: 'connection',
  ENOTFOUND: 'connection',
  EAI_AGAIN: 'connection',
  EHOSTUNREACH: 'connection',
  ENETUNREACH: 'connection',
  ETIMEDOUT: 'timeout',
};

const BY_TEXT: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [/timeout/i, 'timeout'],
  [/password/i, 'auth'],
  [/ssl|certificate|tls/i, 'refused'],
  [/connection|terminated|not queryable/i, 'connection'],
];

/**
 * Turns an error of the client or the server into a `ConnectorError`; our own errors pass
 * unchanged. The server's `detail` may contain record values and is left out.
 */
export function postgresError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = messageOf(inner);
  const options = hintOf(inner);
  const message = `${doing}: ${text}${contextOf(inner)}`;
  return new ConnectorError(kindOf(inner, text), message, { ...options, cause: error });
}

/** The SQLSTATE (five characters) or the code of the operating system. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string'
    ? error.code
    : '';
}

function kindOf(error: unknown, text: string): ConnectorErrorKind {
  const code = codeOf(error);
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (/^[0-9A-Z]{5}$/.test(code))
    return BY_STATE.find(([start]) => code.startsWith(start))?.[1] ?? 'data';
  return BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? 'data';
}

/** What to do, by the code or the text of a failure to connect or to be allowed. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED/, 'check host and port, and whether the server runs and listens there'],
  [/^(?:ENOTFOUND|EAI_AGAIN)/, 'check the name of the host'],
  [/^28/, 'check user and password, and the access rules of the server (pg_hba.conf)'],
  [/^3D000/, 'check the name of the database, the last part of the address'],
  [/^42501/, 'ask the owner of the object for the right (GRANT)'],
  [/^42601/, 'correct the statement there; `psql` tells the position'],
  [/^42P01/, 'check the name of the table, its schema and the letters’ case'],
  [/^42703/, 'check the name of the column; without quotes names are lower case'],
  [/^42883/, 'check name and types of the arguments, or convert them with `::type`'],
  [
    /^22P02|^22007|^22008/,
    'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  ],
  [/^22003/, 'make the column wider, or correct the value at the source'],
  [/^22001/, 'make the column longer, or shorten the text'],
  [/^23502/, 'give the field a value (`coalesce`, `set`), or the column a default'],
  [/^23505/, 'write with `write_mode: upsert` and a `key`, or remove the row that has the key'],
  [/^23503/, 'write the rows that others refer to first'],
  [/does not support SSL/, 'leave out `sslmode` (or `tls`), or turn on TLS at the server'],
  [
    /certificate/,
    'name the certificate of the authority with `sslrootcert`, as `?sslrootcert=ca.pem`',
  ],
];

/** That of the server, if it gave one; of a refused value it speaks of its own settings. */
function hintOf(error: unknown): { hint?: string } {
  const given =
    typeof error === 'object' && error !== null && 'hint' in error ? error.hint : undefined;
  if (typeof given === 'string' && !isRefusal(error)) return { hint: given };
  const [code, text] = [codeOf(error), messageOf(error)];
  const hint = HINTS.find(([pattern]) => pattern.test(code) || pattern.test(text))?.[1];
  return hint === undefined ? {} : { hint };
}

function isBroken(error: unknown): boolean {
  const kind = error instanceof ConnectorError ? error.kind : kindOf(error, messageOf(error));
  return kind === 'connection' || kind === 'timeout' || kind === 'auth';
}
