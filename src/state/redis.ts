import type { Redis } from 'ioredis';
import { z } from 'zod';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../lib/errors.ts';
import { parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { finding, text } from '../kit/schema.ts';
import { defineStateStore, type StateStore } from '../kit/state-store.ts';

const CONNECT_MS = 10_000;

const config = z.lazy(() =>
  z.strictObject({
    url: text()
      .superRefine((url, ctx) => {
        if (URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol)) return;
        ctx.addIssue(
          finding(
            'invalid_value',
            'the address is not one of Redis; write `redis://:password@host:port/0`',
          ),
        );
      })
      .meta({
        description:
          'Address of the server: `redis://:password@host:port/0`, or `rediss://…` with TLS.',
        secret: true,
        examples: ['${env:REDIS_URL}'],
      }),
    namespace: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,200}$/)
      .default('headgate')
      .meta({
        description: 'Stands before every key as `{namespace}:{key}`: letters, digits and `_ . -`.',
      }),
  }),
);

export const redisState = defineStateStore<z.output<typeof config>>({
  type: 'redis',
  description: 'Bookmarks as keys of a Redis server.',
  config,
  durable: true,
  examples: [{ url: 'redis://cache.example:6379/0' }],
  open: async ({ url, namespace }) => {
    const redis = await connect(url);
    return openNamespace(redis, (key) => `${namespace}:${key}`);
  },
});

async function connect(url: string): Promise<Redis> {
  const { Redis: Client } = await import('ioredis');
  const redis = new Client(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: CONNECT_MS,
    maxRetriesPerRequest: 1,
    retryStrategy: (times) => (times > 3 ? null : times * 100),
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
    throw redisError(cause ?? error, 'connection failed');
  }
}

function openNamespace(redis: Redis, nameOf: (key: string) => string): StateStore {
  return {
    get: async (key) => {
      const found = await attempt('the state cannot be read', redis.get(nameOf(key)));
      return found === null ? undefined : readValue(key, found);
    },
    put: async (key, value) =>
      void (await attempt(
        'the state cannot be written',
        redis.set(nameOf(key), stringifyJson(value)),
      )),
    delete: async (key) =>
      void (await attempt('the state cannot be deleted', redis.del(nameOf(key)))),
    async close() {
      await redis.quit().catch(() => redis.disconnect());
    },
  };
}

async function attempt<T>(doing: string, command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw redisError(error, doing);
  }
}

function readValue(key: string, found: string): JsonValue {
  try {
    return parseJson(found);
  } catch (error) {
    throw new ConnectorError('data', `the state \`${key}\` is not JSON`, {
      hint: 'repair the key, or delete it to start over',
      cause: error,
    });
  }
}

const KINDS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH)/, 'auth'],
  [/^(NOPERM|READONLY|OOM|MISCONF)/, 'refused'],
  [/^(LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)/, 'connection'],
  [/timed? ?out|ETIMEDOUT/i, 'timeout'],
  [/ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOSTUNREACH|closed|max retries/i, 'connection'],
];

function redisError(error: unknown, doing: string): ConnectorError {
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const message = messageOf(inner);
  const kind = KINDS.find(([pattern]) => pattern.test(message))?.[1] ?? 'data';
  return new ConnectorError(kind, `${doing}: ${message}`, { cause: error });
}
