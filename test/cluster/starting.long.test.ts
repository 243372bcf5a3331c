/** What starts runs in a cluster: every server knows it, and one of them does it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvToJsonl } from '../e2e/serve-documents.ts';
import { workshop, type Body, type Program } from '../e2e/serve-program.ts';
import { freshDatabase } from '../servers/postgres.ts';
import { redisOrReason } from '../servers/redis.ts';
import { eventually } from '../support/eventually.ts';
import { untilTogether } from './servers.ts';

const shop = workshop();
const database = await freshDatabase();
const redis = redisOrReason();
const queue = redis.reason === undefined ? await redis.start() : undefined;
let one: Program;
let two: Program;

const withValue = (value: string, output: string): Body => {
  const document = csvToJsonl(shop.path('in.csv'), shop.path(output));
  const transforms = [{ type: 'set', config: { values: { value } } }];
  return { ...document, pipeline: { ...(document['pipeline'] as Body), transforms } };
};
const writeTriggers = (...more: readonly Body[]): void => {
  const triggers = [
    {
      name: 'deduped',
      type: 'webhook',
      dedupe_header: 'X-Delivery',
      config: withValue('hook', 'hook.jsonl'),
    },
    ...(queue === undefined
      ? []
      : [
          {
            name: 'watched',
            type: 'queue_depth',
            threshold: 2,
            poll_interval_secs: 1,
            queue: { type: 'redis', url: queue.url, key: 'q' },
            config: withValue('watched', 'watched.jsonl'),
          },
        ]),
    ...more,
  ];
  writeFileSync(shop.path('triggers.json'), JSON.stringify({ version: 1, triggers }));
};
const writeBase = (value: string): void => {
  const transforms = [{ type: 'set', config: { values: { value } } }];
  writeFileSync(shop.path('base.json'), JSON.stringify({ pipeline: { transforms } }));
};

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
  writeTriggers();
  writeBase('old');
  const args = ['--history', database.url, '--cluster', '--triggers', 'triggers.json'];
  const start = (): Promise<Program> =>
    shop.start({ args: [...args, '--default-config', 'base.json'] });
  [one, two] = await Promise.all([start(), start()]);
  await untilTogether([one, two]);
});
afterAll(async () => {
  await shop.dispose();
  await queue?.stop();
  await database.drop();
});

const written = (name: string): Body =>
  JSON.parse(readFileSync(shop.path(name), 'utf8').trim()) as Body;
const runsNamed = async (name: string): Promise<readonly { run_id: string }[]> =>
  (await two.list(`?name=${name}&limit=500`)).runs;

test('a delivery that reaches all of them starts one run', async () => {
  const headers = { 'x-delivery': 'd-1' };
  const answers = await Promise.all(
    [one, two, one, two].map((server) =>
      server.call('POST', '/v1/triggers/deduped', { any: 1 }, headers),
    ),
  );
  const ids = answers.map((answer) => {
    expect(answer.status, answer.text).toBe(202);
    return (answer.json() as { run_id: string }).run_id;
  });
  expect(new Set(ids).size).toBe(1);
  expect(await two.ended(ids[0] ?? '')).toMatchObject({ status: 'completed', attempt: 0 });
  expect(await runsNamed('deduped')).toHaveLength(1);
});

describe.skipIf(queue === undefined)(`a queue that all watch ${redis.reason ?? ''}`, () => {
  test('starts one run when it grows long, and one when it does so again', async () => {
    if (queue === undefined) return;
    const client = new Redis(queue.url);
    const looks = async (): Promise<number> =>
      Number(/cmdstat_llen:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
    /** Each of the servers has looked again. */
    const looksSince = async (): Promise<void> => {
      const before = await looks();
      await eventually(async () => expect(await looks()).toBeGreaterThanOrEqual(before + 6));
    };
    for (const times of [1, 2]) {
      await client.rpush('q', 'a', 'b');
      await eventually(async () => expect(await runsNamed('watched')).toHaveLength(times));
      await looksSince();
      expect(await runsNamed('watched')).toHaveLength(times);
      await client.del('q');
      await looksSince();
    }
    client.disconnect();
  });
});

test('templates and their channels are the same on each, at once', async () => {
  const call = async (server: Program, path: string, body: Body): Promise<Body> => {
    const answer = await server.call('POST', `/v1/templates${path}`, body);
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json() as Body;
  };
  const config = (value: string): string => JSON.stringify(withValue(value, 'template.jsonl'));
  const valueOf = async (server: Program, version?: string): Promise<unknown> => {
    const body = version === undefined ? {} : { version };
    const { run_id: id } = await call(server, '/shared/runs', body);
    await server.ended(String(id));
    return written('template.jsonl')['value'];
  };
  await call(one, '', { id: 'shared', config: config('first') });
  expect((await two.call('POST', '/v1/templates/shared/runs', {})).status).toBe(422);
  expect(await valueOf(two, 'newest')).toBe('first');
  await call(two, '/shared/launch', {});
  await call(two, '', { id: 'shared', config: config('second') });
  await call(one, '/shared/tags', { tag: 'pre-prod', version: 'newest' });
  expect(await valueOf(two, 'pre-prod')).toBe('second');
  expect([await valueOf(one), await valueOf(two)]).toEqual(['first', 'first']);
  await call(one, '/shared/launch', { version: 'pre-prod' });
  expect(await valueOf(two)).toBe('second');
  await call(two, '/shared/rollback', {});
  expect(await valueOf(one)).toBe('first');
  await call(one, '/shared/deprecate', { reason: 'too old' });
  expect(await call(two, '/shared/runs', {})).toMatchObject({ deprecated: 'too old' });
  expect((await two.call('POST', '/v1/templates/shared/launch', {})).status).toBe(422);
});

test('a reload of one is a reload of all', async () => {
  const valueOn = async (server: Program): Promise<unknown> => {
    await server.ended(
      await server.submit(csvToJsonl(shop.path('in.csv'), shop.path('based.jsonl'))),
    );
    return written('based.jsonl')['value'];
  };
  expect([await valueOn(one), await valueOn(two)]).toEqual(['old', 'old']);
  writeBase('new');
  writeTriggers({ name: 'later', type: 'webhook', config: withValue('later', 'later.jsonl') });
  expect((await two.call('POST', '/v1/triggers/later', {})).status).toBe(404);
  expect((await one.call('POST', '/v1/reload')).json()).toMatchObject({ reloaded: true });
  await eventually(async () => expect(await valueOn(two)).toBe('new'));
  await eventually(async () =>
    expect((await two.call('POST', '/v1/triggers/later', {})).status).toBe(202),
  );
  writeFileSync(shop.path('base.json'), '{"pipeline": ');
  expect((await two.call('POST', '/v1/reload')).status).toBe(422);
  expect([await valueOn(one), await valueOn(two)]).toEqual(['new', 'new']);
});
