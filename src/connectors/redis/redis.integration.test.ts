import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { issuesOf, runSource } from '../../../test/fakes/run-source.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { redisOrReason, type RedisServer } from '../../../test/servers/redis.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { Sink } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { redisSink, redisSource } from './index.ts';

const redis = redisOrReason();

describe.skipIf(redis.reason !== undefined)(`redis ${redis.reason ?? ''}`, () => {
  let server: RedisServer;
  let client: Redis;

  beforeAll(async () => {
    if (redis.reason === undefined) server = await redis.start();
    client = new Redis(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
  beforeEach(() => client.flushall());

  const read = (source_type: JsonObject, more: JsonObject = {}) =>
    runSource(redisSource, { url: server.url, source_type, ...more });

  const openSink = async (
    sink_type: JsonObject,
    context: Parameters<typeof sinkContext>[0] = {},
  ): Promise<Sink> => {
    const checked = check(redisSink.config, { url: server.url, sink_type });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return redisSink.open(checked.value, sinkContext(context));
  };

  describe('keys', () => {
    it('of a pattern come with their values, and others are counted', async () => {
      for (let n = 0; n < 2500; n += 1) await client.set(`user:${n}`, `{"n":${n}}`);
      await client.set('other', '1');
      await client.hset('user:hash', 'a', '1');
      const { records, env } = await read({ type: 'keys', pattern: 'user:*' });
      const found = records as { key: string; value: { n: number } }[];
      expect(found).toHaveLength(2500);
      expect(found.every(({ key, value }) => key === `user:${value.n}`)).toBe(true);
      const warnings = env.lines.filter(({ level }) => level === 'WARN');
      expect(warnings.map(({ line }) => line)).toEqual([expect.stringMatching(/hash.*1/)]);
    });
  });

  describe.skipIf(redis.reason !== undefined || redis.startOfCluster === undefined)(
    'a server of a cluster',
    () => {
      let member: RedisServer;
      beforeAll(async () => {
        if (redis.reason === undefined && redis.startOfCluster !== undefined)
          member = await redis.startOfCluster();
      });
      afterAll(() => member.stop());
      const config = (): JsonObject => ({
        url: member.url,
        source_type: { type: 'Keys', pattern: '*' },
      });

      it('is not read by a pattern of keys, because it lists only its own', async () => {
        await expect(runSource(redisSource, config())).rejects.toMatchObject({
          kind: 'refused',
          message: expect.stringContaining('belongs to a Redis Cluster'),
        });
      });

      it('fails the check of a source that does so', async () => {
        const checked = check(redisSource.config, config());
        if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
        expect(await redisSource.probe?.(checked.value, sourceContext())).toMatchObject([
          { status: 'fail', reason: expect.stringContaining('Redis Cluster') },
        ]);
      });
    },
  );

  it('whose user may not ask about clusters is read all the same', async () => {
    await client.set('k', '1');
    await client.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@read');
    const url = server.url.replace('//', '//reader:secret@');
    const source_type = { type: 'Keys', pattern: 'k' };
    expect((await runSource(redisSource, { url, source_type })).records).toEqual([
      { key: 'k', value: 1 },
    ]);
  });

  describe('a list', () => {
    it('stays as it is, and is read up to max_records', async () => {
      await client.rpush('l', 'plain', '{"a":1.5}', '12', '"q"', 'true story', '');
      const { records } = await read({ type: 'List', key: 'l' }, { batch_size: 2 });
      expect(records).toEqual(['plain', { a: 1.5 }, 12, 'q', 'true story', '']);
      expect((await read({ type: 'List', key: 'l' }, { max_records: 3 })).records).toHaveLength(3);
      expect(await client.llen('l')).toBe(6);
    });

    it('with bytes that are no text ends with the place of the element', async () => {
      await client.rpush('l', 'a', Buffer.from([0xff, 0xfe]));
      await expect(read({ type: 'List', key: 'l' })).rejects.toThrow(/element 1 of the list `l`/);
    });

    it('of long elements is asked for in small parts', async () => {
      await client.rpush('l', ...Array.from({ length: 300 }, () => 'x'.repeat(20_000)));
      const { pages } = await runSource(
        redisSource,
        { url: server.url, source_type: { type: 'List', key: 'l' } },
        { context: { pageBytes: 100_000 } },
      );
      expect(Math.max(...pages.map((page) => page.bytes))).toBeLessThan(101_000);
      expect(pages.reduce((sum, page) => sum + page.count, 0)).toBe(300);
      const commands = await client.info('commandstats');
      const calls = Number(/cmdstat_lrange:calls=(\d+)/.exec(commands)?.[1]);
      expect(calls).toBeGreaterThan(20);
    });
  });

  describe('a stream as a group', () => {
    const type = { type: 'Stream', key: 's', group: 'g' };

    async function readPart(
      config: JsonObject,
      acknowledge: (bookmarks: JsonValue[]) => JsonValue | undefined,
      env = testEnv(),
    ): Promise<JsonValue[]> {
      const checked = check(redisSource.config, { url: server.url, batch_size: 2, ...config });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const source = await redisSource.open(checked.value, sourceContext({ env }));
      const pages: Page[] = [];
      for await (const page of source.pages({ lane: RECORDS_LANE })) pages.push(page);
      const mark = acknowledge(pages.map(({ bookmark = null }) => bookmark));
      if (mark !== undefined) await source.acknowledge?.(mark);
      await source.close();
      return pages.flatMap((page) => page.records().map((one) => (one as JsonObject)['id'] ?? 0));
    }

    beforeEach(async () => {
      for (let n = 1; n <= 5; n += 1) await client.xadd('s', `${n}-0`, 'n', `${n}`);
    });

    it('ends when all is read, and gives what was not acknowledged again', async () => {
      const all = ['1-0', '2-0', '3-0', '4-0', '5-0'];
      expect(await readPart({ source_type: type }, () => undefined)).toEqual(all);
      expect(await readPart({ source_type: type }, ([, second]) => second)).toEqual(all);
      await client.xadd('s', '6-0', 'n', '6');
      expect(await readPart({ source_type: type }, (marks) => marks.at(-1))).toEqual([
        '5-0',
        '6-0',
      ]);
      expect(await readPart({ source_type: type }, () => undefined)).toEqual([]);
      expect((await client.xpending('s', 'g'))[0]).toBe(0);
    });

    it('leaves what another consumer was given to that one', async () => {
      await readPart({ source_type: { ...type, consumer: 'a' } }, () => undefined);
      await client.xadd('s', '6-0', 'n', '6');
      const other = { source_type: { ...type, consumer: 'b' } };
      expect(await readPart(other, (marks) => marks.at(-1))).toEqual(['6-0']);
    });

    it('is not kept waiting by entries that were deleted before they were written, and tells of them', async () => {
      await readPart({ source_type: type }, () => undefined);
      await client.xdel('s', '1-0', '2-0', '3-0', '4-0', '5-0');
      const env = testEnv();
      expect(await readPart({ source_type: type }, () => undefined, env)).toEqual([]);
      const warnings = env.lines.filter(({ level }) => level === 'WARN');
      expect(warnings.map(({ line }) => line)).toEqual([expect.stringMatching(/deleted.*5/)]);
      expect((await client.xpending('s', 'g'))[0]).toBe(0);
    });

    it('goes on when the server was a replica for a while, as when another one takes its part', async () => {
      const waiting = { ...type, idle_timeout: 60 };
      const checked = check(redisSource.config, { url: server.url, source_type: waiting });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const env = testEnv({ clock: systemClock });
      const pause = { backoff: 'none', baseMs: 50, maxMs: 50, jitter: false } as const;
      const retry = { ...pause, maxAttempts: 1000, on: ['connection'] } as const;
      const source = await redisSource.open(checked.value, sourceContext({ env, retry }));
      const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
      expect((await pages.next()).value?.records()).toHaveLength(5);
      const next = pages.next();
      await client.call('REPLICAOF', '127.0.0.1', '1');
      await eventually(() =>
        expect(env.lines.map(({ line }) => line).join()).toContain('READONLY'),
      );
      await client.call('REPLICAOF', 'NO', 'ONE');
      await client.xadd('s', '6-0', 'n', '6');
      expect((await next).value?.records()).toEqual([{ id: '6-0', fields: { n: 6 } }]);
      await source.close();
    });

    it('asks again for what it was given by an answer that was lost', async () => {
      // The group has given two entries to this consumer, which has seen neither.
      await client.xgroup('CREATE', 's', 'g', '0');
      await client.xreadgroup('GROUP', 'g', 'headgate', 'COUNT', 2, 'STREAMS', 's', '>');
      expect(await readPart({ source_type: type }, () => undefined)).toHaveLength(5);
    });
  });

  describe('the sink', () => {
    const record = { id: 1, text: 'a "b"', none: null, list: [1, 'x'], big: 2n ** 60n };

    it('stores fields of a stream as text, and what has none as one', async () => {
      const sink = await openSink({ type: 'Stream', key: 's' });
      await sink.write(Page.ofRecords([record, {}, 'bare']), { partial: false });
      await sink.close();
      expect((await client.xrange('s', '-', '+')).map(([, flat]) => flat)).toEqual([
        ['id', '1', 'text', 'a "b"', 'none', 'null', 'list', '[1,"x"]', 'big', `${2n ** 60n}`],
        ['_data', '{}'],
        ['_data', '"bare"'],
      ]);
    });

    it('writes nothing of a page with a record that has no key', async () => {
      const sink = await openSink({ type: 'key_value', key_field: 'id' });
      const write = sink.write(Page.ofRecords([{ id: 'a' }, { x: 1 }]), { partial: false });
      await expect(write).rejects.toMatchObject({ record: 1, message: 'a record has no `id`' });
      expect(await client.dbsize()).toBe(0);
      await sink.write(Page.ofRecords([{ id: 7, v: 'x' }]), { partial: false });
      expect(await client.get('7')).toBe('{"id":7,"v":"x"}');
      await sink.close();
    });

    it('commits no token when a key holds another type, and says what to do', async () => {
      await client.set('k', 'a text');
      for (const type of ['List', 'Stream']) {
        const sink = await openSink({ type, key: 'k' });
        const write = sink.tokens?.write(Page.ofRecords([record]), 'scope', 'one');
        await expect(write).rejects.toMatchObject({
          message: expect.stringContaining('WRONGTYPE') as string,
          hint: expect.stringContaining('sink_type') as string,
        });
        expect(await sink.tokens?.last('scope')).toBeUndefined();
        await sink.close();
      }
    });

    it('commits nothing of a page with a record of more fields than a script can add', async () => {
      const sink = await openSink({ type: 'Stream', key: 's' });
      const fields = (count: number): JsonObject =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, n]));
      const wide = Page.ofRecords([{ id: 1 }, fields(4000)]);
      const failure = {
        kind: 'data',
        record: 1,
        message: expect.stringContaining('4000 fields') as string,
      };
      await expect(sink.tokens?.write(wide, 'scope', 'one')).rejects.toMatchObject(failure);
      await expect(sink.tokens?.hold(wide)).rejects.toMatchObject(failure);
      expect(await client.xlen('s')).toBe(0);
      await sink.tokens?.write(Page.ofRecords([{ id: 1 }, fields(3950)]), 'scope', 'one');
      expect(await client.xlen('s')).toBe(2);
      await sink.write(wide, { partial: false });
      expect(await client.xlen('s')).toBe(4);
      await sink.close();
    });

    it.each<JsonObject>([
      { type: 'List', key: 'k' },
      { type: 'Stream', key: 'k' },
      { type: 'key_value', key_field: 'id' },
    ])('commits nothing for an execution when a later one has begun: $type', async (type) => {
      const by = (claim: number, runId = 'run'): Promise<Sink> => openSink(type, { claim, runId });
      const page = (id: string): Page => Page.ofRecords([{ id }]);
      const [first, second] = [await by(1), await by(2)];
      expect(await first.tokens?.last('scope')).toBeUndefined();
      await first.tokens?.write(page('a'), 'scope', 'one');
      expect(await second.tokens?.last('scope')).toBe('one');
      const late = { message: expect.stringContaining('another server took over') as string };
      await expect(first.tokens?.write(page('b'), 'scope', 'two')).rejects.toMatchObject(late);
      await expect(first.tokens?.last('scope')).rejects.toMatchObject(late);
      await second.tokens?.write(page('c'), 'scope', 'three');
      const another = await by(1, 'the next run');
      expect(await another.tokens?.last('scope')).toBe('three');
      const stored =
        type['type'] === 'List'
          ? await client.llen('k')
          : type['type'] === 'Stream'
            ? await client.xlen('k')
            : (await client.keys('?')).length;
      expect(stored).toBe(2);
      for (const sink of [first, second, another]) await sink.close();
    });

    it('connects again after its connection was lost', async () => {
      const sink = await openSink({ type: 'List', key: 'l' });
      await sink.write(Page.ofRecords([1]), { partial: false });
      await client.call('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
      await sink.write(Page.ofRecords([2]), { partial: false }).catch(() => {});
      await sink.write(Page.ofRecords([3]), { partial: false });
      expect((await client.lrange('l', 0, -1)).slice(-1)).toEqual(['3']);
      await sink.close();
    });
  });

  it('a password is never told', async () => {
    const env = testEnv();
    const url = server.url.replace('//', '//nobody:a-secret-word@');
    const checked = check(redisSink.config, { url, sink_type: { type: 'List', key: 'l' } });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const findings = (await redisSink.probe?.(checked.value, sinkContext({ env }))) ?? [];
    expect(findings).toMatchObject([{ name: 'ping', status: 'fail' }]);
    expect(JSON.stringify(findings)).not.toContain('a-secret-word');
    expect(env.redactor.text('a-secret-word')).not.toContain('a-secret-word');
  });
});

it('a config with an unknown type or a member without its group does not load', () => {
  const url = 'redis://localhost';
  const paths = (config: JsonObject) => issuesOf(redisSource, config).map(({ path }) => path);
  expect(paths({ url, source_type: { type: 'list', key: 'x' } })).toEqual([]);
  expect(paths({ url: 'http://x', source_type: { type: 'Set', key: 'x' } })).toEqual([
    'url',
    'source_type.type',
  ]);
  expect(
    paths({ url, source_type: { type: 'Stream', key: 'x', consumer: 'c', idle_timeout: 1 } }),
  ).toEqual(['source_type.consumer', 'source_type.idle_timeout']);
});
