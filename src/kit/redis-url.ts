import { isRedisUrl } from '../lib/redis/redis.ts';
import { finding, text } from './schema.ts';

/** A config field with the address of a Redis server. */
export function redisUrl() {
  return text()
    .superRefine((url, ctx) => {
      if (isRedisUrl(url)) return;
      const message = 'the address is not one of Redis; write `redis://:password@host:port/0`';
      ctx.addIssue(finding('invalid_value', message));
    })
    .meta({
      description:
        'Address of the server: `redis://:password@host:port/0`, or `rediss://…` with TLS.',
      secret: true,
      examples: ['${env:REDIS_URL}'],
    });
}
