import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { tlsFault } from '../../lib/tls-fault.ts';

interface Fault {
  readonly kind: ConnectorErrorKind;
  readonly says: string;
  readonly hint?: string;
}

const LOGIN = 'check `username` and `password`';
const RIGHTS = 'check what the user may do with this topic';

/** Codes below 128 are those of MQTT 3.1.1, with which it answers a login. */
const FAULTS: Readonly<Record<number, Fault>> = {
  1: { kind: 'refused', says: 'it does not speak this version', hint: 'set `protocol_version`' },
  2: { kind: 'refused', says: 'it does not take this `client_id`' },
  3: { kind: 'connection', says: 'it is not available' },
  4: { kind: 'auth', says: 'it does not know this user or password', hint: LOGIN },
  5: { kind: 'auth', says: 'not authorized', hint: LOGIN },
  128: { kind: 'refused', says: 'it refuses without a reason', hint: RIGHTS },
  131: { kind: 'refused', says: 'an error of its own' },
  132: { kind: 'refused', says: 'it does not speak this version', hint: 'set `protocol_version`' },
  133: { kind: 'refused', says: 'it does not take this `client_id`' },
  134: { kind: 'auth', says: 'it does not know this user or password', hint: LOGIN },
  135: { kind: 'auth', says: 'not authorized', hint: `${LOGIN}, and what the user may do` },
  136: { kind: 'connection', says: 'it is not available' },
  137: { kind: 'connection', says: 'it is busy' },
  138: { kind: 'auth', says: 'this client is banned' },
  139: { kind: 'connection', says: 'it shuts down' },
  141: { kind: 'timeout', says: 'it heard nothing for too long' },
  142: {
    kind: 'refused',
    says: 'another connection has taken over the session',
    hint: 'give each reader a `client_id` of its own',
  },
  143: { kind: 'refused', says: 'it does not take this topic' },
  144: { kind: 'data', says: 'it does not take this topic' },
  149: { kind: 'data', says: 'the message is longer than it takes' },
  151: { kind: 'rate_limited', says: 'a quota is exceeded' },
  153: { kind: 'data', says: 'the payload is not as its format says' },
  154: { kind: 'refused', says: 'it keeps no messages', hint: 'set `retain: false`' },
  155: { kind: 'refused', says: 'it does not offer this quality of service', hint: 'lower `qos`' },
  158: { kind: 'refused', says: 'it offers no shared subscriptions' },
  159: { kind: 'rate_limited', says: 'there are too many connections' },
  162: { kind: 'refused', says: 'it offers no wildcards in subscriptions' },
};

/** What a reason code of the server means; `because` is its own text. */
export function refusal(code: number, doing: string, because?: string): ConnectorError {
  const fault = FAULTS[code] ?? { kind: 'refused' as const, says: 'refused' };
  const said = because === undefined || because === '' ? '' : ` (${because})`;
  const message = `${doing}: ${fault.says}, code ${code}${said}`;
  return fault.hint === undefined
    ? new ConnectorError(fault.kind, message)
    : new ConnectorError(fault.kind, message, { hint: fault.hint });
}

export function mqttError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const tls = tlsFault(error);
  const message = `${doing}: ${messageOf(error) || 'the connection was lost'}`;
  if (tls !== undefined) return new ConnectorError('refused', message, { hint: tls, cause: error });
  const kind = /ETIMEDOUT|timed? ?out/i.test(message) ? 'timeout' : 'connection';
  return new ConnectorError(kind, message, { cause: error });
}
