/** Addresses and errors of Kafka, for triggers and connectors. */
import { isIP } from 'node:net';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { loadClient } from '../load-client.ts';
import { tlsFault } from '../tls-fault.ts';

const PACKAGE = '@platformatic/kafka';

/** The library, which is loaded when it is needed and may not be installed. */
export const kafkaLibrary = (): Promise<typeof import('@platformatic/kafka')> =>
  loadClient(PACKAGE, () => import('@platformatic/kafka'));

const PORT = 9092;

/** `host:port` of each, from a list separated by commas. */
export function brokerList(brokers: string): string[] {
  return brokers.split(',').map(withPort);
}

function withPort(broker: string): string {
  const address = broker.trim();
  return /:\d+$/.test(address) ? address : `${address}:${PORT}`;
}

/** Another producer of the same transactional id has begun. */
const FENCED = /PRODUCER_FENCED|INVALID_PRODUCER_EPOCH/;
const KINDS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  // The second are the words of the client.
  [/UNKNOWN_TOPIC_OR_PARTITION|Unknown topic /, 'missing'],
  [/AUTHENTICATION|SASL/, 'auth'],
  [/AUTHORIZATION_FAILED/, 'refused'],
  [/MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE|INVALID_RECORD|CORRUPT_MESSAGE/, 'data'],
  [FENCED, 'refused'],
  // What no broker will take, however often it is asked.
  [/INVALID_(TOPIC|REQUIRED_ACKS|PARTITIONS|REPLICATION|CONFIG|TRANSACTION_TIMEOUT)/, 'refused'],
  [/INVALID_(GROUP_ID|SESSION_TIMEOUT)|POLICY_VIOLATION|SECURITY_DISABLED/, 'refused'],
  [/UNSUPPORTED_(VERSION|COMPRESSION_TYPE|FOR_MESSAGE_FORMAT)/, 'refused'],
  [/timed? ?out/i, 'timeout'],
];

const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE/,
    'raise `max.message.bytes` of the topic, set `compression`, or make the records smaller',
  ],
  [/INVALID_TOPIC/, 'a name of a topic has letters, digits, `.`, `_` and `-`, 249 at most'],
];

export function kafkaError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const found = [...messagesOf(error)];
  const text = found.join(' ');
  const untrusted = tlsFault(error);
  const known = KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? 'connection';
  const kind = untrusted === undefined ? known : 'refused';
  const advice = HINTS.find(([pattern]) => pattern.test(text))?.[1];
  const hint = untrusted ?? (kind === 'missing' ? 'make the topic, or check its name' : advice);
  return new ConnectorError(kind, `${doing}: ${found.at(-1) ?? messageOf(error)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

export function isFenced(error: unknown): boolean {
  return [...messagesOf(error)].some((text) => FENCED.test(text));
}

/** The client wraps errors of the connection and of the broker in others, the innermost says most. */
function* messagesOf(error: unknown): Generator<string> {
  if (!(error instanceof Error)) return;
  yield `${'apiId' in error ? `${String(error.apiId)} ` : ''}${error.message}`;
  if (error instanceof AggregateError) for (const one of error.errors) yield* messagesOf(one);
  yield* messagesOf(error.cause);
}

/** Whether brokers take it for the name of a topic. */
export function isTopicName(text: string): boolean {
  return /^[\w.-]{1,249}$/.test(text) && text !== '.' && text !== '..';
}

/** Whether a text is `host:port` or a host, or several of them. */
export function areBrokers(text: string): boolean {
  return text.split(',').every((broker) => {
    const [, host = '', port = String(PORT)] = /^\s*(.+?)(?::(\d{1,5}))?\s*$/.exec(broker) ?? [];
    const isHost = /^[\w.-]+$/.test(host) || isIP(host.replace(/^\[(.+)\]$/, '$1')) === 6;
    return isHost && Number(port) > 0 && Number(port) <= 65_535;
  });
}
