import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisOrReason, type RedisServer } from '../../test/servers/redis.ts';
import { redisState } from './redis.ts';
import { openState } from '../../test/fakes/open-state.ts';

const redis = redisOrReason();
const namespace = `test-${randomBytes(4).toString('hex')}`;

describe.skipIf(redis.reason !== undefined)(
  `the redis state store on a server [${redis.reason ?? 'found'}]`,
  () => {
    let server: RedisServer;
    beforeAll(async () => {
      if (redis.reason === undefined) server = await redis.start();
    });
    afterAll(() => server.stop());

    test('a value is JSON text under the namespace, and text that is not JSON is an error', async () => {
      const store = await openState(redisState, { url: server.url, namespace });
      await store.put('p::row', { at: 1 });
      const client = new Redis(server.url);
      expect(await client.get(`${namespace}:p::row`)).toBe('{"at":1}');
      await client.set(`${namespace}:p::row`, '{');
      await expect(store.get('p::row')).rejects.toMatchObject({ kind: 'data' });
      await client.del(`${namespace}:p::row`);
      await client.quit();
      await store.close();
    });
  },
);
