import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { tlsFault } from '../../lib/tls-fault.ts';

interface Fault {
  readonly kind: ConnectorErrorKind;
  readonly hint?: string;
}

/** Replies of AMQP 0-9-1 by their codes. */
const FAULTS: Readonly<Record<number, Fault>> = {
  311: { kind: 'data' },
  312: { kind: 'missing' },
  403: { kind: 'auth', hint: 'check the user and the password of `url`, and what the user may do' },
  404: { kind: 'missing', hint: 'make it, or check its name' },
  405: { kind: 'refused', hint: 'somebody else has the queue for himself' },
  406: {
    kind: 'refused',
    hint: 'it is there with other settings: set `declare_queue: false` or `queue_durable` as it is; of an exchange, leave `exchange_kind` out',
  },
  501: { kind: 'refused' },
  530: { kind: 'missing', hint: 'check the vhost of `url`, and who may use it' },
  540: { kind: 'refused' },
};

export function rabbitmqError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const message = messageOf(error);
  const { kind, hint } = faultOf(error, message);
  return new ConnectorError(kind, `${doing}: ${message}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Of a cluster: it is there, but the node that holds it is not, or not yet. */
const AWAY = /down or inaccessible|stopped by supervisor|failed to perform operation on queue/;

function faultOf(error: unknown, message: string): Fault {
  if (AWAY.test(message)) return { kind: 'connection' };
  const own = error instanceof Error && 'code' in error ? Number(error.code) : Number.NaN;
  const inText = /(?:by server: |\b)(\d{3}) \(/.exec(message)?.[1];
  const known = FAULTS[own] ?? FAULTS[Number(inText)];
  if (known !== undefined) return known;
  const tls = tlsFault(error);
  if (tls !== undefined) return { kind: 'refused', hint: tls };
  return { kind: /ETIMEDOUT|timed? ?out/i.test(message) ? 'timeout' : 'connection' };
}
