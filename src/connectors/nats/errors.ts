import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { tlsFault } from '../../lib/tls-fault.ts';

const STREAM_MISSING = 10_059;
const CONSUMER_MISSING = 10_014;

interface Fault {
  readonly kind: ConnectorErrorKind;
  readonly hint?: string;
}

const LOGIN: Fault = { kind: 'auth', hint: 'check `auth`' };
const SLOW: Fault = { kind: 'timeout' };

/** By the names that the client gives its errors, so that it need not be loaded to compare them. */
const FAULTS: Readonly<Record<string, Fault>> = {
  AuthorizationError: LOGIN,
  UserAuthenticationExpiredError: LOGIN,
  PermissionViolationError: {
    kind: 'refused',
    hint: 'allow the user of `auth` to use this subject',
  },
  TimeoutError: SLOW,
  InvalidArgumentError: { kind: 'refused' },
  InvalidSubjectError: { kind: 'refused' },
  InvalidNameError: { kind: 'refused' },
  JetStreamNotEnabled: { kind: 'missing', hint: 'JetStream is off on this server, or busy' },
  NoResponders: {
    kind: 'missing',
    hint: 'nobody listens there: the stream or its consumer was removed, or JetStream is off',
  },
};

export function natsError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const { kind, hint } = faultOf(error);
  return new ConnectorError(kind, `${doing}: ${sentenceOf(error)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { kind: 'connection' };
  const code = 'code' in error ? error.code : undefined;
  if (code === STREAM_MISSING)
    return { kind: 'missing', hint: 'make the stream, or check its name' };
  if (code === CONSUMER_MISSING)
    return { kind: 'missing', hint: 'make a pull consumer of the stream, or check its name' };
  const known =
    FAULTS[error.name] ?? (error.cause instanceof Error ? FAULTS[error.cause.name] : undefined);
  if (known !== undefined) return known;
  const tls = tlsFault(error);
  if (tls !== undefined) return { kind: 'refused', hint: tls };
  if (!error.name.startsWith('JetStream')) return { kind: 'connection' };
  // 5xx without a code of its own: no leader, or too busy.
  const isPassing = 'status' in error && Number(error.status) >= 500 && code === 10_008;
  return { kind: isPassing ? 'http_5xx' : 'refused' };
}

function sentenceOf(error: unknown): string {
  const text = messageOf(error);
  return text === '' && error instanceof Error && error.cause !== undefined
    ? messageOf(error.cause)
    : text;
}
