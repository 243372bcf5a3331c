/** Servers that watch a queue and a bucket: what happens while they or the other side are away. */
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { makeBucket, minio, s3Client, S3_VARIABLES } from '../servers/object-stores.ts';
import { redisOrReason } from '../servers/redis.ts';
import { startOf } from '../servers/test-servers.ts';
import { csvToJsonl } from './serve-documents.ts';
import { workshop, type Body, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const redis = redisOrReason();
let ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
  ends = [];
});

function shopWith(trigger: Body, transform: Body): ReturnType<typeof workshop> {
  const shop = workshop();
  ends.push(() => shop.dispose());
  const document = csvToJsonl(shop.path('in.csv'), shop.path('out.jsonl'));
  const transforms = [{ type: 'set', config: { values: transform } }];
  const sink = { type: 'jsonl', config: { path: shop.path('out.jsonl'), append: true } };
  const config = { ...document, pipeline: { ...(document['pipeline'] as Body), transforms, sink } };
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
  const triggers = [{ name: 'watch', poll_interval_secs: 1, config, ...trigger }];
  writeFileSync(shop.path('triggers.json'), JSON.stringify({ version: 1, triggers }));
  return shop;
}

const watching = ['--triggers', 'triggers.json'];
const labelsOf = async (program: Program): Promise<Record<string, string>[]> =>
  (await program.list()).runs.map(({ labels }) => labels);
const health = async (program: Program): Promise<Body> =>
  ((await program.call('GET', '/readyz')).json() as { triggers: Body[] }).triggers[0] ?? {};

describe.skipIf(redis.reason !== undefined)(`a queue of Redis ${redis.reason ?? ''}`, () => {
  test('that grows long starts one run; while Redis is away the server says so and stays ready', async () => {
    if (redis.reason !== undefined) return;
    const server = await redis.start();
    const shop = shopWith(
      { type: 'queue_depth', threshold: 2, queue: { type: 'redis', url: server.url, key: 'q' } },
      { depth: '${trigger.depth}' },
    );
    const program = await shop.start({ args: watching });
    const push = async (): Promise<void> => {
      const client = new Redis(server.url);
      await client.rpush('q', 'a', 'b');
      client.disconnect();
    };
    await push();
    await eventually(async () => expect(await labelsOf(program)).toHaveLength(1));
    const [run] = (await program.list()).runs;
    expect(await program.ended(run?.run_id ?? '')).toMatchObject({
      status: 'completed',
      name: 'watch',
      idempotency_key: 'trig:watch:edge:1',
      labels: {
        'svc.trigger.queue': 'q',
        'svc.trigger.depth': '2',
        'svc.trigger.type': 'queue_depth',
      },
    });
    expect(JSON.parse(readFileSync(shop.path('out.jsonl'), 'utf8'))).toEqual({
      id: '1',
      depth: '2',
    });
    await server.stop();
    await eventually(async () => expect(await health(program)).toMatchObject({ healthy: false }));
    const ready = await program.call('GET', '/readyz');
    expect([ready.status, (await health(program))['last_error']]).toEqual([
      200,
      expect.stringContaining('Redis cannot count `q`'),
    ]);
    expect((await program.call('GET', '/metrics')).text).toContain(
      'svc_serve_trigger_healthy{trigger="watch"} 0',
    );
  }, 60_000);
});

describe.skipIf(minio.reason !== undefined)(`a bucket of MinIO ${minio.reason ?? ''}`, () => {
  test('of which two servers and a later one start one run for each object', async () => {
    const store = await startOf(minio);
    ends.push(() => store.stop());
    await makeBucket(store.url, 'landing');
    const put = (key: string): Promise<unknown> =>
      s3Client(store.url).send(new PutObjectCommand({ Bucket: 'landing', Key: key, Body: 'abc' }));
    const shop = shopWith(
      {
        type: 'object_arrival',
        store: { type: 's3', bucket: 'landing', prefix: 'in/', endpoint: store.url },
        run: { name: '{name}-{object_key}' },
      },
      { key: '${trigger.object_key}', size: '${trigger.size}' },
    );
    await put('in/before.csv');
    const start = (): Promise<Program> => shop.start({ args: watching, variables: S3_VARIABLES });
    const [one, other] = [await start(), await start()];
    await Promise.all(['in/a', 'in/b', 'out/c'].map(put));
    const keys = async (program: Program): Promise<string[]> =>
      (await labelsOf(program)).map((labels) => labels['svc.trigger.object_key'] ?? '').sort();
    await eventually(async () => expect(await keys(one)).toEqual(['in/a', 'in/b']));
    await Promise.all([one.stop('SIGKILL'), other.stop('SIGKILL')]);
    // Nobody watches now.
    await put('in/meanwhile');
    const later = await start();
    await eventually(async () =>
      expect(await keys(later)).toEqual(['in/a', 'in/b', 'in/meanwhile']),
    );
    const { runs } = await later.list();
    for (const { run_id } of runs) await later.ended(run_id);
    expect(runs.map(({ name }) => String(name)).sort()).toEqual([
      'watch-in/a',
      'watch-in/b',
      'watch-in/meanwhile',
    ]);
  }, 90_000);
});
