import {
  MongoAPIError,
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoSystemError,
} from 'mongodb';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { tlsFault } from '../tls-fault.ts';

export const CODES = {
  namespaceNotFound: 26,
  namespaceExists: 48,
  illegalOperation: 20,
  duplicateKey: 11_000,
} as const;

const KINDS: ReadonlyMap<number, ConnectorErrorKind> = new Map([
  // Unauthorized, AuthenticationFailed, and logins of the hosted service.
  ...[18, 8000].map((code) => [code, 'auth'] as const),
  ...[13, 20, 59, 72, 115, 166, 238, 303].map((code) => [code, 'refused'] as const),
  [26, 'missing'],
  // Time limits: of the operation, of the network, of the write concern.
  ...[50, 64, 89, 202, 262].map((code) => [code, 'timeout'] as const),
  // Servers that step down, stop, start or cannot be reached from others; cursors that are gone.
  ...[6, 7, 43, 63, 91, 133, 150, 189, 234, 237, 9001, 10_107, 11_600, 11_602, 13_388].map(
    (code) => [code, 'connection'] as const,
  ),
  ...[13_435, 13_436, 112, 251].map((code) => [code, 'connection'] as const),
  // What others lock or have changed meanwhile, and majorities that are not there yet.
  ...[24, 46, 134, 175, 246].map((code) => [code, 'connection'] as const),
]);

const RETRY_LABELS = [
  'RetryableWriteError',
  'TransientTransactionError',
  'ResumableChangeStreamError',
];
const LONGEST = 600;

/** Whether the server is at fault, and not what it was asked for. */
export function isPassing(code: unknown): boolean {
  const kind = kindOfCode(code);
  return kind === 'connection' || kind === 'timeout';
}

function kindOfCode(code: unknown): ConnectorErrorKind | undefined {
  return typeof code === 'number' ? KINDS.get(code) : undefined;
}

/** A `ConnectorError` that begins with `doing`. */
export function mongoError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const inner = ofBulkWrite(error);
  const reason = inner instanceof MongoServerSelectionError ? selectionReason(inner) : inner;
  const tls = tlsFault(reason);
  const kind = tls === undefined ? kindOf(reason) : 'refused';
  const hint = tls ?? HINTS[kind];
  return new ConnectorError(kind, `${doing}: ${excerpt(messageOf(reason))}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Messages of the server may repeat a whole document. */
export function excerpt(message: string): string {
  return message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message;
}

const HINTS: Partial<Record<ConnectorErrorKind, string>> = {
  auth: 'check user, password and `authSource` of `connection_uri`',
  connection: 'check the hosts of `connection_uri`, and whether the server is running',
};

function kindOf(error: unknown): ConnectorErrorKind {
  if (error instanceof MongoServerError) {
    const known = kindOfCode(error.code);
    if (known !== undefined) return known;
    return RETRY_LABELS.some((label) => error.hasErrorLabel(label)) ? 'connection' : 'data';
  }
  if (error instanceof MongoNetworkTimeoutError || error instanceof MongoOperationTimeoutError)
    return 'timeout';
  if (error instanceof MongoNetworkError || error instanceof MongoSystemError) return 'connection';
  if (error instanceof MongoAPIError) return 'refused';
  return error instanceof MongoError ? 'connection' : 'data';
}

/** A bulk write makes an answer of the server of whatever ended it, also of a lost connection. */
function ofBulkWrite(error: unknown): unknown {
  const isWrapped = error instanceof MongoBulkWriteError && error.errorResponse instanceof Error;
  return isWrapped ? error.errorResponse : error;
}

/** What keeps a server from being found says more than that none was found in time. */
function selectionReason(error: MongoServerSelectionError): unknown {
  const servers = error.reason?.servers;
  if (servers === undefined) return error;
  for (const { error: cause } of servers.values()) if (cause !== null) return cause;
  return error;
}
