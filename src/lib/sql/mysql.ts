/** Connections to MySQL and MariaDB: loads the client when needed, and ends statements. */
import { readFile } from 'node:fs/promises';
import type { Connection, QueryOptions } from 'mysql2';
import type { Duplex } from 'node:stream';
import { ConnectorError } from '../errors.ts';
import { parseMysqlAddress, type MysqlAddress } from './mysql-address.ts';
import { codesOf, mysqlError } from './mysql-errors.ts';
import { untilAborted } from './until-aborted.ts';
import { permittedFile } from '../files/file-access.ts';

export interface MysqlOptions {
  readonly url: string;
  /** Statements that are run once, at the start. */
  readonly session: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** Whether statements may read a stream of this side (LOAD DATA LOCAL). */
  readonly sendsFiles?: boolean;
}

const CONNECT_MS = 10_000;
const KILL_MS = 2000;

/** One connection. The caller ends it. */
export async function connectMysql(options: MysqlOptions): Promise<Connection> {
  const { url, session, signal } = options;
  const address = parseMysqlAddress(url);
  if ('fault' in address) throw new ConnectorError('data', address.fault);
  try {
    signal?.throwIfAborted();
    const connection = await connectTo(address, options);
    try {
      for (const statement of session) await askMysql(connection, statement);
    } catch (error) {
      connection.destroy();
      throw error;
    }
    return connection;
  } catch (error) {
    throw signal?.aborted === true && error === signal.reason
      ? error
      : mysqlError(error, 'connection failed');
  }
}

async function connectTo(address: MysqlAddress, options: MysqlOptions): Promise<Connection> {
  try {
    return await openConnection(address, options);
  } catch (error) {
    const hasNoTls = codesOf(error).code === 'HANDSHAKE_NO_SSL_SUPPORT';
    if (address.tls !== 'preferred' || !hasNoTls) throw error;
    return openConnection({ ...address, tls: 'disabled' }, options);
  }
}

async function openConnection(address: MysqlAddress, options: MysqlOptions): Promise<Connection> {
  const { createConnection } = await import('mysql2');
  const connection = createConnection({
    host: address.host,
    port: address.port,
    user: address.user,
    password: address.password,
    ...(address.database === undefined ? {} : { database: address.database }),
    ...(address.socket === undefined ? {} : { socketPath: address.socket }),
    ...(await tlsOf(address)),
    charset: 'utf8mb4',
    connectTimeout: CONNECT_MS,
    // Values keep the text of the server.
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
    // The first would make words of columns whose names are those of functions.
    flags: ['-IGNORE_SPACE', ...(options.sendsFiles === true ? [] : ['-LOCAL_FILES'])],
  });
  // A connection that breaks while idle is found by the next statement.
  connection.on('error', () => {});
  destroysAll(connection);
  const connecting = new Promise<void>((resolve, reject) => {
    connection.connect((error) => (error === null ? resolve() : reject(error)));
  });
  try {
    await untilAborted(connecting, {
      signal: options.signal,
      cancel: async () => connection.destroy(),
    });
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/**
 * The client only ends its own half. A server that sends, as one that is asked for its log does for
 * ever, would not notice, and keep the connection.
 */
function destroysAll(connection: Connection): void {
  const endOwnHalf = connection.destroy.bind(connection);
  const { stream } = connection as unknown as { readonly stream: Duplex };
  connection.destroy = () => {
    endOwnHalf();
    stream.destroy();
  };
}

async function tlsOf({ tls, ca, cert, key }: MysqlAddress): Promise<{ ssl?: object }> {
  if (tls === 'disabled') return {};
  const isChecked = tls === 'verify_ca' || tls === 'verify_identity';
  return {
    ssl: {
      rejectUnauthorized: isChecked,
      verifyIdentity: tls === 'verify_identity',
      ...(ca === undefined ? {} : { ca: await readPem(ca, 'ssl-ca') }),
      ...(cert === undefined ? {} : { cert: await readPem(cert, 'ssl-cert') }),
      ...(key === undefined ? {} : { key: await readPem(key, 'ssl-key') }),
    },
  };
}

async function readPem(path: string, option: string): Promise<string> {
  try {
    return await readFile(permittedFile(path), 'utf8');
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError(
      'missing',
      `\`${option}\` of the address names a file that cannot be read`,
      {
        cause: error,
      },
    );
  }
}

export type SqlValue = string | number | null;

export interface MysqlAnswer {
  /** Values in the order of the columns; numbers beyond the safe range are texts. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** Rows that a statement changed. */
  readonly changed: number;
  readonly warnings: number;
}

/** Runs one statement and takes its whole answer. */
export function askMysql(
  connection: Connection,
  sql: string,
  options: Partial<QueryOptions> = {},
): Promise<MysqlAnswer> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, rowsAsArray: true, ...options }, (error, result) => {
      if (error !== null) reject(error);
      else resolve(answerOf(result));
    });
  });
}

function answerOf(result: unknown): MysqlAnswer {
  if (Array.isArray(result)) return { rows: result as SqlValue[][], changed: 0, warnings: 0 };
  const { affectedRows = 0, warningStatus = 0 } = result as {
    affectedRows?: number;
    warningStatus?: number;
  };
  return { rows: [], changed: affectedRows, warnings: warningStatus };
}

/** Ends what the connection is doing, by a second connection; gives up after a moment. */
export async function killStatement(connection: Connection, url: string): Promise<void> {
  const { threadId } = connection;
  if (!Number.isInteger(threadId)) return;
  const signal = AbortSignal.timeout(KILL_MS);
  try {
    const second = await connectMysql({ url, session: [`KILL QUERY ${threadId}`], signal });
    second.destroy();
  } catch {
    // The statement ends when the server finds that its connection is closed.
  }
}
