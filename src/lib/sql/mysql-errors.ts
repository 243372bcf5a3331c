/** Errors of the client and of the server as errors of ours. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';

const BY_NUMBER: Readonly<Record<number, ConnectorErrorKind>> = {
  1040: 'connection',
  1053: 'connection',
  1080: 'connection',
  1158: 'connection',
  1159: 'connection',
  1160: 'connection',
  1161: 'connection',
  1203: 'connection',
  1927: 'connection',
  1044: 'auth',
  1045: 'auth',
  1698: 'auth',
  1049: 'missing',
  1054: 'missing',
  1146: 'missing',
  1305: 'missing',
  1036: 'refused',
  1129: 'refused',
  1142: 'refused',
  1143: 'refused',
  1148: 'refused',
  1227: 'refused',
  1290: 'refused',
  1370: 'refused',
  1792: 'refused',
  3159: 'refused',
  3948: 'refused',
  1205: 'timeout',
  1213: 'timeout',
  1317: 'timeout',
  1969: 'timeout',
  3024: 'timeout',
};

const BY_CODE: Readonly<Record<string, ConnectorErrorKind>> = {
  ECONNREFUSED: 'connection',
  ECONNRESET: 'connection',
  EPIPE: 'connection',
  ENOTFOUND: 'connection',
  ENOENT: 'connection',
  EAI_AGAIN: 'connection',
  EHOSTUNREACH: 'connection',
  ENETUNREACH: 'connection',
  ETIMEDOUT: 'timeout',
  PROTOCOL_CONNECTION_LOST: 'connection',
  PROTOCOL_SEQUENCE_TIMEOUT: 'timeout',
  HANDSHAKE_SSL_ERROR: 'refused',
  HANDSHAKE_NO_SSL_SUPPORT: 'refused',
};

/** What to do about a failure to connect or to be allowed. */
const HINTS: Readonly<Record<string | number, string>> = {
  ECONNREFUSED: 'check host and port, and whether the server runs and listens there',
  ENOTFOUND: 'check the name of the host',
  ETIMEDOUT:
    'check host and port: what listens there may be no MySQL server, or nothing comes through',
  EAI_AGAIN: 'check the name of the host',
  HANDSHAKE_NO_SSL_SUPPORT: 'leave out `ssl-mode`, or turn on TLS at the server',
  HANDSHAKE_SSL_ERROR: 'name the certificate of the authority with `ssl-ca` in the address',
  1045: 'check user and password, and from which hosts the server lets this user in',
  1049: 'check the name of the database, the last part of the address',
  1048: 'give the field a value (`coalesce`, `set`), or the column a default',
  1054: 'check the name of the column',
  1062: 'write with `write_mode: upsert` and a `key`, or remove the row that has the key',
  1064: 'correct the statement at the words that are named',
  1146: 'check the name of the table and the database of the address',
  1264: 'make the column wider, or correct the value at the source',
  1292: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  1305: 'check the name of the function',
  1366: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  1406: 'make the column longer, or shorten the text',
  1142: 'ask who keeps the database for the right (GRANT)',
  1792: 'a source only reads: change data outside of the pipeline',
};

interface Coded {
  readonly code: string;
  readonly number: number;
}

/** Error number of the server, and code of the client or the operating system. */
export function codesOf(error: unknown): Coded {
  const { code, errno } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<string, unknown>
  >;
  return {
    code: typeof code === 'string' ? code : '',
    number: typeof errno === 'number' ? errno : 0,
  };
}

/** Errors of our own pass unchanged. The text of the statement, which holds values, is left out. */
export function mysqlError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  if (typeof inner === 'object' && inner !== null && 'sql' in inner) delete inner.sql;
  const { code, number } = codesOf(inner);
  const hint = HINTS[number] ?? HINTS[code];
  return new ConnectorError(kindOf(inner), `${doing}: ${messageOf(inner)}`, {
    cause: inner,
    ...(hint === undefined ? {} : { hint }),
  });
}

function kindOf(error: unknown): ConnectorErrorKind {
  const { code, number } = codesOf(error);
  const known = BY_NUMBER[number] ?? BY_CODE[code];
  if (known !== undefined) return known;
  if (/closed state|connection lost|can't add new command/i.test(messageOf(error)))
    return 'connection';
  return /ssl|certificate|tls|self-signed/i.test(messageOf(error)) && number === 0
    ? 'refused'
    : 'data';
}

/** Whether the connection cannot be used any more. */
export function isBroken(error: unknown): boolean {
  const kind = error instanceof ConnectorError ? error.kind : kindOf(error);
  return kind === 'connection' || (kind === 'timeout' && codesOf(causeOf(error)).number === 0);
}

function causeOf(error: unknown): unknown {
  return error instanceof ConnectorError ? error.cause : error;
}
