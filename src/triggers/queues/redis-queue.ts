/** How much a list or stream of Redis holds. */
import type { Redis } from 'ioredis';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { untilStopped } from '../until-stopped.ts';

export interface RedisQueue {
  readonly url: string;
  readonly key: string;
  readonly kind: 'list' | 'stream';
}

const TIMEOUT_MS = 5000;

/** A connection for each count: looks are seconds apart. */
export async function redisDepth(queue: RedisQueue, signal: AbortSignal): Promise<number> {
  const { Redis: Client } = await import('ioredis');
  const redis = new Client(queue.url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let cause: unknown;
  // It says more than the "connection is closed" of the command.
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    return await untilStopped(count(redis, queue), signal);
  } catch (error) {
    throw redisError(cause ?? error, `Redis cannot count \`${queue.key}\``);
  } finally {
    redis.disconnect();
  }
}

async function count(redis: Redis, { key, kind }: RedisQueue): Promise<number> {
  await redis.connect();
  return kind === 'list' ? redis.llen(key) : redis.xlen(key);
}

const KINDS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH)/, 'auth'],
  [/^(NOPERM|MISCONF)/, 'refused'],
  [/^(LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)/, 'connection'],
  [/timed? ?out|ETIMEDOUT/i, 'timeout'],
  [/ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOSTUNREACH|closed|max retries/i, 'connection'],
];

function redisError(error: unknown, doing: string): ConnectorError {
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const message = messageOf(inner);
  const kind = KINDS.find(([pattern]) => pattern.test(message))?.[1] ?? 'data';
  const hint = message.startsWith('WRONGTYPE') ? { hint: 'set `kind` to what the key holds' } : {};
  return new ConnectorError(kind, `${doing}: ${message}`, { cause: error, ...hint });
}
