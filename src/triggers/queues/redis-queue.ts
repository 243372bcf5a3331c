/** How much a list or stream of Redis holds. */
import { connectRedis, redisError } from '../../lib/redis/redis.ts';
import { untilStopped } from '../../lib/until-stopped.ts';

export interface RedisQueue {
  readonly url: string;
  readonly key: string;
  readonly kind: 'list' | 'stream';
}

const TIMEOUT_MS = 5000;

/** A connection for each count: looks are seconds apart. */
export async function redisDepth(queue: RedisQueue, signal: AbortSignal): Promise<number> {
  const { url, key, kind } = queue;
  const doing = `Redis cannot count \`${key}\``;
  const connecting = connectRedis(url, { connectMs: TIMEOUT_MS, commandMs: TIMEOUT_MS }, doing);
  try {
    const redis = await untilStopped(connecting, signal);
    return await untilStopped(kind === 'list' ? redis.llen(key) : redis.xlen(key), signal);
  } catch (error) {
    throw redisError(error, doing, 'set `kind` to what the key holds');
  } finally {
    connecting.then(
      (redis) => redis.disconnect(),
      () => {},
    );
  }
}
