import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { tlsFault } from '../../lib/tls-fault.ts';

const UNAUTHENTICATED = 16;

interface Fault {
  readonly kind: ConnectorErrorKind;
  readonly hint?: string;
}

/** By the numbers of the statuses of gRPC. */
const FAULTS: Readonly<Record<number, Fault>> = {
  1: { kind: 'connection' },
  2: { kind: 'http_5xx' },
  3: { kind: 'refused', hint: 'check `request`' },
  4: { kind: 'timeout', hint: 'raise `timeout`, or ask for less' },
  5: { kind: 'missing' },
  6: { kind: 'refused' },
  7: { kind: 'auth', hint: 'the login has no permission for this; check its permissions' },
  8: { kind: 'rate_limited' },
  9: { kind: 'refused' },
  10: { kind: 'http_5xx' },
  11: { kind: 'refused', hint: 'check `request`' },
  12: {
    kind: 'missing',
    hint: 'check `service_name` and `method_name`, and whether the server is the one of the descriptors',
  },
  13: { kind: 'http_5xx' },
  14: { kind: 'connection' },
  15: { kind: 'data' },
  [UNAUTHENTICATED]: { kind: 'auth', hint: 'check `auth`: the server does not know this login' },
};

export function grpcError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const message = messageOf(error);
  const { kind, hint } = faultOf(codeOf(error), message);
  return new ConnectorError(kind, `${doing}: ${message}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Whether the server did not know the login, which may be a token that is no longer good. */
export function isUnknownLogin(error: unknown): boolean {
  const cause = error instanceof ConnectorError ? error.cause : error;
  return codeOf(cause) === UNAUTHENTICATED;
}

function codeOf(error: unknown): number {
  return error instanceof Error && 'code' in error ? Number(error.code) : Number.NaN;
}

function faultOf(code: number, message: string): Fault {
  if (/Received message (?:larger than|that decompresses)/.test(message))
    return { kind: 'data', hint: 'raise `max_decoding_message_size`' };
  if (/Attempted to send message with a size larger than/.test(message))
    return { kind: 'refused', hint: 'raise `max_encoding_message_size`' };
  const tls = tlsFault(new Error(message));
  if (code === 14 && tls !== undefined) return { kind: 'refused', hint: tls };
  return FAULTS[code] ?? { kind: 'connection' };
}
