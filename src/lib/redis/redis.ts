/** Connections to Redis and its errors, for the state store, triggers and connectors. */
import type { Redis } from 'ioredis';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { tlsFault } from '../tls-fault.ts';

export interface RedisOptions {
  readonly connectMs: number;
  /** The longest wait for the answer to a command; unset: no limit. */
  readonly commandMs?: number;
  /** How often a lost connection is made again by itself. */
  readonly reconnects?: number;
}

/** Connects. The caller ends it with `disconnect` or `quit`. */
export async function connectRedis(
  url: string,
  { connectMs, commandMs, reconnects = 0 }: RedisOptions,
  doing = 'connection failed',
): Promise<Redis> {
  const { Redis: Client } = await import('ioredis');
  const redis = new Client(url, {
    lazyConnect: true,
    connectTimeout: connectMs,
    ...(commandMs === undefined ? {} : { commandTimeout: commandMs }),
    maxRetriesPerRequest: reconnects === 0 ? 0 : 1,
    retryStrategy: (times) => (times > reconnects ? null : times * 100),
  });
  let cause: unknown;
  // The last failure says more than the "connection is closed" that ends the attempts.
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw redisError(cause ?? error, doing);
  }
}

export function isRedisUrl(url: string): boolean {
  return URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol);
}

const KINDS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH)/, 'auth'],
  [/^(NOPERM|OOM|MISCONF)/, 'refused'],
  // No other attempt on this server helps.
  [/^(MOVED|ASK|CROSSSLOT) /, 'refused'],
  [/^NOGROUP/, 'missing'],
  // Servers that start, are busy, or have lost or given up their part to another one.
  [/^(LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|UNBLOCKED|NOREPLICAS|BUSY )/, 'connection'],
  [/max number of clients/, 'connection'],
  [/timed? ?out|ETIMEDOUT/i, 'timeout'],
  [/ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOSTUNREACH|closed|max retries/i, 'connection'],
];

/** `wrongType` says what to do where a key holds another kind of value. */
export function redisError(error: unknown, doing: string, wrongType?: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const message = messageOf(inner);
  const tls = tlsFault(inner);
  const known = KINDS.find(([pattern]) => pattern.test(message))?.[1];
  const kind = tls === undefined ? (known ?? 'data') : 'refused';
  const hint = message.includes('WRONGTYPE') ? wrongType : (tls ?? clusterHint(message));
  return new ConnectorError(kind, `${doing}: ${message}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Servers of a cluster that have other keys. */
function clusterHint(message: string): string | undefined {
  const [, place] = /^(?:MOVED|ASK) \d+ (\S+)/.exec(message) ?? [];
  if (place !== undefined)
    return `another server of the cluster has this key: write \`${place}\` as host and port of \`url\``;
  return message.startsWith('CROSSSLOT ')
    ? 'all keys of a commit must be in one slot of the cluster: write with `delivery: at_least_once`'
    : undefined;
}
