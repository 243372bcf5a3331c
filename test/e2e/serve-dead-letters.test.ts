/** Dead letters and output files of runs over HTTP, at the real program. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileState } from '../../src/state/file.ts';
import { testEnv } from '../fakes/env.ts';
import { workshop, type Body, type Program } from './serve-program.ts';

const shop = workshop();
let program: Program;

beforeAll(async () => {
  program = await shop.start({
    args: [
      '--history',
      'memory',
      '--preview-local-outputs',
      '--local-output-in-flight-grace-secs',
      '0',
    ],
  });
});
afterAll(() => shop.dispose());

/** The check on `qty` is what sends records aside. */
function document(check: 'not_null' | 'none'): Body {
  const quality = {
    record: [
      { type: 'not_null', field: check === 'none' ? 'id' : 'qty', on_failure: 'quarantine' },
    ],
  };
  return {
    version: 1,
    name: 'orders',
    pipeline: {
      source: { type: 'csv', config: { path: shop.path('orders.csv') } },
      transforms: [{ type: 'cast', config: { fields: { qty: 'int' }, on_error: 'null' } }],
      quality,
      sink: { type: 'jsonl', config: { path: shop.path('orders.jsonl') } },
      dlq: { sink: { type: 'jsonl', config: { path: shop.path('dead.jsonl') } } },
    },
  };
}

const lines = (name: string): unknown[] =>
  readFileSync(shop.path(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

test('records that were put aside are looked at, replayed and discarded', async () => {
  writeFileSync(shop.path('orders.csv'), 'id,qty\n1,2\n2,x\n3,4\n');
  const location = shop.path('dead.jsonl');

  // An earlier try of this test may have left some.
  for (const name of ['dead.jsonl', 'dead.replay-failed.jsonl'])
    rmSync(shop.path(name), { force: true });
  await program.ended(await program.submit(document('not_null')));
  const inspected = await program.call('POST', '/v1/dlq/inspect', { location });
  expect([inspected.status, inspected.json()]).toMatchObject([
    200,
    { total_envelopes: 1, by_reason: { quality: 1 } },
  ]);

  const replay = (check: 'not_null' | 'none', more: Body = {}) =>
    program.call('POST', '/v1/dlq/replay', {
      config: JSON.stringify(document(check)),
      config_format: 'json',
      from: location,
      ...more,
    });
  const dry = await replay('none', { dry_run: true });
  expect([dry.status, dry.json()]).toMatchObject([
    200,
    { candidates: 1, records_written: 0, dry_run: true },
  ]);
  const again = await replay('not_null');
  expect([again.status, again.json()]).toMatchObject([200, { candidates: 1, records_written: 0 }]);
  expect(lines('dead.replay-failed.jsonl')).toMatchObject([
    { reason: 'quality', payload: { id: '2', qty: null } },
  ]);
  const mended = await replay('none');
  expect([mended.status, mended.json()]).toMatchObject([
    200,
    { candidates: 1, records_written: 1, dry_run: false },
  ]);
  expect(lines('orders.jsonl')).toEqual([
    { id: '1', qty: 2 },
    { id: '3', qty: 4 },
    { id: '2', qty: null },
  ]);
  expect(lines('dead.jsonl')).toHaveLength(1);

  const discarded = await program.call('POST', '/v1/dlq/discard', { location });
  expect([discarded.status, discarded.json()]).toMatchObject([
    200,
    { discarded: 1, files_rewritten: 1 },
  ]);
  expect(readFileSync(location, 'utf8')).toBe('');
  const { entries } = (await program.call('GET', '/v1/audit?action=dlq.replay')).json() as {
    entries: Body[];
  };
  expect(entries.slice(0, 3).map(({ result }) => result)).toEqual(['ok', 'ok', 'ok']);
});

test('a replay beside another one of the row is a 409', async () => {
  writeFileSync(shop.path('again.jsonl'), '{"payload":{"id":1}}\n');
  const written = document('none');
  const state = { type: 'file', config: { path: shop.path('state') } };
  const config = JSON.stringify({
    ...written,
    pipeline: { ...(written['pipeline'] as object), state },
  });
  const replay = (more: Body = {}) =>
    program.call('POST', '/v1/dlq/replay', {
      config,
      config_format: 'json',
      from: shop.path('again.jsonl'),
      ...more,
    });
  const store = await fileState.open(state.config, { env: testEnv() } as never);
  const key = 'orders::row-0::__replay__';
  await store.lease(key, { token: 'other', ttlMs: 60_000, holder: { run_id: 'other' } });
  const refused = await replay();
  expect([refused.status, refused.json()]).toMatchObject([
    409,
    { error: { code: 'conflict', message: expect.stringContaining('run `other`') as string } },
  ]);
  expect((await replay({ dry_run: true })).status).toBe(200);
  await store.release(key, 'other');
  expect((await replay()).status).toBe(200);
  expect(await store.lease(key, { token: 'next', ttlMs: 1, holder: {} })).toMatchObject({
    token: 'next',
  });
});

test.each([
  ['letters that are not there', 400, { from: 'nowhere.jsonl' }],
  ['a row that is not there', 400, { row: 'none' }],
  ['a queue that is also the place for failures', 400, { failed_dlq: 'again.jsonl' }],
  ['a document that is not valid', 422, { config: '{"version":1}' }],
  ['a text that is no document', 400, { config: '{' }],
])('a replay of %s is a %i', async (_what, status, wrong) => {
  writeFileSync(shop.path('again.jsonl'), '{"payload":{"id":1}}\n');
  const given: Body = {
    config: JSON.stringify(document('none')),
    config_format: 'json',
    from: 'again.jsonl',
    ...wrong,
  };
  for (const key of ['from', 'failed_dlq'])
    if (typeof given[key] === 'string') given[key] = shop.path(given[key]);
  expect((await program.call('POST', '/v1/dlq/replay', given)).status).toBe(status);
});

test('a file that a run wrote is listed, shown and deleted, and its run stays', async () => {
  writeFileSync(shop.path('orders.csv'), 'id,qty\n1,2\n3,4\n');
  const file = shop.path('mine.jsonl');
  const pipeline = {
    source: { type: 'csv', config: { path: shop.path('orders.csv') } },
    sink: { type: 'jsonl', config: { path: file } },
  };
  const run = await program.submit({
    version: 1,
    name: 'mine',
    local_outputs: { retention_days: 3 },
    pipeline,
  });
  await program.ended(run);
  const list = async (): Promise<Body[]> =>
    ((await program.call('GET', '/v1/local-outputs?pipeline=mine')).json() as { outputs: Body[] })
      .outputs;
  await expect.poll(list).toHaveLength(1);
  const [output] = await list();
  expect(output).toMatchObject({
    path: file,
    kind: 'jsonl',
    run_id: run,
    state: 'present',
    retention_days_effective: 3,
  });
  const id = String(output?.['id']);
  const shown = await program.call('GET', `/v1/local-outputs/${id}/preview?row_count_to_load=1`);
  expect([shown.status, shown.json()]).toMatchObject([
    200,
    {
      rows: [{ id: '1', qty: '2' }],
      columns: ['id', 'qty'],
      row_limit: 1,
      truncated: true,
      capped_by: 'rows',
    },
  ]);
  expect((await program.call('DELETE', `/v1/local-outputs/${id}`)).json()).toMatchObject({
    deleted: 1,
  });
  expect(existsSync(file)).toBe(false);
  expect((await program.call('DELETE', `/v1/local-outputs/${id}`)).json()).toMatchObject({
    deleted: 0,
    skipped: 'already_deleted',
  });
  expect((await program.call('GET', `/v1/local-outputs/${id}/preview`)).status).toBe(409);
  expect((await program.call('GET', `/v1/runs/${run}`)).status).toBe(200);
  expect((await program.call('POST', '/v1/local-outputs/cleanup', { all: true })).status).toBe(400);
  expect((await program.call('POST', '/v1/local-outputs/cleanup', {})).status).toBe(400);
});
