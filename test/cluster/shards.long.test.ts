/** Runs in shards, executed by two servers together. */
import { mkdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { workshop, type Body, type Program } from '../e2e/serve-program.ts';
import { eventually } from '../support/eventually.ts';
import { receiver, type Receiver } from './receiver.ts';
import { ROWS, WatchedDatabase } from './watched-database.ts';

const database = await WatchedDatabase.open();
const shop = workshop();
const COUNT = 4;
let callbacks: Receiver;
let one: Program;
let two: Program;

beforeAll(async () => {
  callbacks = await receiver();
  const settings = ['--cluster', '--max-concurrent-runs', '2'];
  const args = ['--history', database.url, ...settings, '--callback-allow-host', '127.0.0.1'];
  [one, two] = await Promise.all([shop.start({ args }), shop.start({ args })]);
  await database.watchRuns();
});
afterAll(async () => {
  await shop.dispose();
  callbacks.close();
  await database.close();
});

const submit = async (document: Body): Promise<string> =>
  one.submit(document, { callback: { url: callbacks.url } });
const ownersOf = async (): Promise<readonly string[]> => {
  const { rows } = await database.client.query<{ owner: string }>(
    `SELECT DISTINCT owner FROM svc_serve_runs WHERE parent_id IS NOT NULL AND owner NOT LIKE '/%'`,
  );
  return rows.map(({ owner }) => owner);
};

test('its shards move everything once, on both servers, and it ends with the last', async () => {
  const id = await submit(await database.sharded('whole', COUNT));
  await eventually(async () =>
    expect((await two.get(id)).shards).toMatchObject({ total: COUNT, failed: 0 }),
  );
  expect(await two.ended(id)).toMatchObject({
    status: 'completed',
    records_written: ROWS,
    shards: { total: COUNT, completed: COUNT, running: 0, pending: 0 },
    error: null,
    attempt: 0,
  });
  const { invocations } = await one.get(id);
  expect(invocations.map(({ row_id, status }) => `${row_id} ${status}`)).toEqual(
    Array.from({ length: COUNT }, (_, n) => `row-0::shard::${n} completed`),
  );
  expect(await database.count('whole')).toBe(ROWS);
  expect(await ownersOf()).toHaveLength(2);
  await eventually(() => expect(callbacks.of(id)).toEqual(['run.completed']));
  expect((await one.list('?name=whole')).runs).toHaveLength(1);
  for (const program of [one, two]) {
    const log = (await program.call('GET', `/v1/runs/${id}/logs?format=text`)).text;
    expect(log.match(/row started/g)).toHaveLength(COUNT);
    expect(log).toContain('its shards are executed one by one');
  }
  const [first] = await shardsOf(id);
  expect((await one.call('GET', `/v1/runs/${first ?? ''}`)).status).toBe(404);
});

test('files are divided among shards by their names, each read by one of them', async () => {
  const files = 30;
  await mkdir(shop.path('in'));
  for (let n = 0; n < files; n += 1)
    await writeFile(shop.path(`in/part-${n}.jsonl`), `{"n":${n}}\n{"n":${n}}\n`);
  await database.client.query('CREATE TABLE divided (n bigint)');
  const id = await submit({
    version: 1,
    name: 'divided',
    shard: { count: COUNT },
    pipeline: {
      source: { type: 'file', config: { path: shop.path('in/*.jsonl') } },
      sink: {
        type: 'postgres',
        config: {
          connection_url: database.url,
          table_name: 'divided',
          column_mapping: 'auto_map',
        },
      },
    },
  });
  expect(await two.ended(id)).toMatchObject({
    status: 'completed',
    records_written: 2 * files,
    shards: { total: COUNT, completed: COUNT },
  });
  const { rows } = await database.client.query<{ rows: number; files: number }>(
    'SELECT count(*)::int AS rows, count(DISTINCT n)::int AS files FROM divided',
  );
  expect(rows).toEqual([{ rows: 2 * files, files }]);
});

async function shardsOf(id: string): Promise<readonly string[]> {
  const { rows } = await database.client.query<{ run_id: string }>(
    'SELECT run_id FROM svc_serve_runs WHERE parent_id = $1',
    [id],
  );
  return rows.map(({ run_id }) => run_id);
}

test('it fails when one of them fails, and the others do their work', async () => {
  const document = await database.sharded('broken', COUNT);
  await database.client.query(`ALTER TABLE broken ADD CHECK (id <> ${ROWS})`);
  const id = await submit(document);
  const record = await two.ended(id);
  expect(record).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^1\/4 shard\(s\) failed: 3: /) as string,
    shards: { completed: 3, failed: 1 },
  });
  expect(await database.count('broken')).toBeGreaterThanOrEqual((ROWS * 3) / 4);
  await eventually(() => expect(callbacks.of(id)).toEqual(['run.failed']));
});

/** Its shards take less than a second each, and all of them more than six on four places. */
test('its time is that of the run, whenever a shard of it begins', async () => {
  const id = await one.submit(await database.sharded('late', 40, 3), { timeout_secs: 3 });
  const record = await two.ended(id);
  expect(record).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('did not finish within its timeout_secs of 3') as string,
  });
});

test('a cancel on any server ends all of them', async () => {
  const document = await database.sharded('endless', 8, 3);
  const id = await submit(document);
  await eventually(async () => expect((await two.get(id)).shards?.running).toBeGreaterThan(1));
  expect((await two.call('POST', `/v1/runs/${id}/cancel`)).status).toBe(202);
  const record = await one.ended(id);
  expect(record.error).toBeNull();
  expect(record).toMatchObject({ status: 'cancelled', shards: { running: 0, pending: 0 } });
  expect(record.shards?.cancelled).toBeGreaterThan(0);
  await eventually(() => expect(callbacks.of(id)).toEqual(['run.cancelled']));
  expect((await two.call('DELETE', `/v1/runs/${id}`)).status).toBe(204);
  expect(await shardsOf(id)).toEqual([]);
});
