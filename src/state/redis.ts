import type { Redis } from 'ioredis';
import { z } from 'zod';
import { ConnectorError } from '../lib/errors.ts';
import { connectRedis, redisError } from '../lib/redis/redis.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { redisUrl } from '../kit/redis-url.ts';
import {
  defineStateStore,
  LEASE_PREFIX,
  NO_LEASE,
  sortedEntries,
  type StateStore,
} from '../kit/state-store.ts';

const CONNECT_MS = 10_000;

const config = z.lazy(() =>
  z.strictObject({
    url: redisUrl(),
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
    const redis = await connectRedis(url, {
      connectMs: CONNECT_MS,
      commandMs: CONNECT_MS,
      reconnects: 3,
    });
    return openNamespace(redis, (key) => `${namespace}:${key}`);
  },
});

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
    async putHeld(key, value, { lease, token }) {
      const keys = [nameOf(LEASE_PREFIX + lease), nameOf(key)];
      const put = redis.eval(PUT_HELD, keys.length, ...keys, token, stringifyJson(value));
      return (await attempt('the state cannot be written', put)) === 1;
    },
    delete: async (key) =>
      void (await attempt('the state cannot be deleted', redis.del(nameOf(key)))),
    async deleteHeld(key, { lease, token }) {
      const keys = [nameOf(LEASE_PREFIX + lease), nameOf(key)];
      const remove = redis.eval(DELETE_HELD, keys.length, ...keys, token);
      return (await attempt('the state cannot be deleted', remove)) === 1;
    },
    // The server does not know when a key was set.
    async entries(key) {
      const begin = nameOf('').length;
      const found = new Set<string>();
      if (await attempt('the state cannot be read', redis.exists(nameOf(key)))) found.add(key);
      const below = `${nameOf(key).replaceAll(GLOB_SIGNS, '\\$&')}::*`;
      for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
        const scanning = redis.scan(cursor, 'MATCH', below, 'COUNT', 1000);
        const [next, names] = await attempt('the state cannot be read', scanning);
        for (const name of names) found.add(name.slice(begin));
        cursor = next;
      }
      return sortedEntries([...found].map((stored) => ({ key: stored })));
    },
    async lease(key, { token, ttlMs, holder, instead = token, renews }) {
      const name = nameOf(LEASE_PREFIX + key);
      const value = stringifyJson({ token, holder });
      const [found, remainingMs] = (await attempt(
        'the state cannot be leased',
        redis.eval(TAKE_LEASE, 1, name, value, ttlMs, token, instead, renews ? 1 : 0),
      )) as [string, number];
      if (found === '') return NO_LEASE;
      const lease = readValue(key, found) as JsonObject;
      return {
        token: lease['token'] as string,
        holder: lease['holder'] as JsonObject,
        remainingMs,
      };
    },
    release: async (key, token) =>
      void (await attempt(
        'the lease cannot be given back',
        redis.eval(RELEASE_LEASE, 1, nameOf(LEASE_PREFIX + key), token),
      )),
    async close() {
      await redis.quit().catch(() => redis.disconnect());
    },
  };
}

/** What a pattern of the server does not take as it is. */
const GLOB_SIGNS = /[\\*?[\]^-]/g;

/** The server ends it by its own clock. */
const TAKE_LEASE = `
  local held = redis.call('GET', KEYS[1])
  local token = held and cjson.decode(held)['token']
  if ARGV[5] == '1' and token ~= ARGV[3] then
    if held then return {held, redis.call('PTTL', KEYS[1])} end
    return {'', 0}
  end
  if not held or token == ARGV[3] or token == ARGV[4] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return {ARGV[1], tonumber(ARGV[2])}
  end
  return {held, redis.call('PTTL', KEYS[1])}`;
const PUT_HELD = `
  local held = redis.call('GET', KEYS[1])
  if not held or cjson.decode(held)['token'] ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[2], ARGV[2])
  return 1`;
const DELETE_HELD = `
  local held = redis.call('GET', KEYS[1])
  if not held or cjson.decode(held)['token'] ~= ARGV[1] then return 0 end
  redis.call('DEL', KEYS[2])
  return 1`;
const RELEASE_LEASE = `
  local held = redis.call('GET', KEYS[1])
  if held and cjson.decode(held)['token'] == ARGV[1] then redis.call('DEL', KEYS[1]) end
  return 0`;

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
