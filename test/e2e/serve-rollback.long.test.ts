/** Undoing runs over HTTP, at the real program. */
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RollbackReport } from '../../src/wire/rollback.ts';
import { silentApi } from './serve-documents.ts';
import { workshop, type Answer, type Body, type Program } from './serve-program.ts';

const shop = workshop();
let program: Program;

beforeAll(async () => {
  program = await shop.start({ args: ['--history', 'memory'] });
});
afterAll(() => shop.dispose());

function document(name: string, more: Body = {}): Body {
  const config = {
    database_url: `sqlite:${shop.path('shop.db')}`,
    table_name: name,
    column_mapping: 'auto_map',
    write_mode: 'upsert',
    key: ['id'],
  };
  return {
    version: 1,
    name,
    rollback: {},
    pipeline: {
      source: { type: 'csv', config: { path: shop.path(`${name}.csv`) } },
      sink: { type: 'sqlite', config },
      state: { type: 'file', config: { path: shop.path('state') } },
    },
    ...more,
  };
}

async function move(name: string, lines: readonly string[], settings: Body = {}): Promise<string> {
  writeFileSync(shop.path(`${name}.csv`), ['id,name', ...lines, ''].join('\n'));
  const id = await program.submit(document(name), settings);
  expect((await program.ended(id)).error).toBeNull();
  return id;
}

function rowsOf(table: string): string[] {
  const db = new DatabaseSync(shop.path('shop.db'));
  const rows = db.prepare(`SELECT id, name FROM ${table} ORDER BY id`).all();
  db.close();
  return rows.map((row) => `${String(row['id'])}${String(row['name'])}`);
}

const undo = (runId: string, body?: Body): Promise<Answer> =>
  program.call('POST', `/v1/runs/${runId}/rollback`, body);
const withConfig = (name: string, more: Body = {}): Body => ({
  config: JSON.stringify(document(name)),
  config_format: 'json',
  ...more,
});

function sentence(answer: Answer): string {
  return (answer.json() as { error: { message: string } }).error.message;
}

test('a dry run changes nothing, a later change blocks, force undoes, and the audit log tells of each', async () => {
  const first = await move('orders', ['1,a', '2,b']);
  const second = await move('orders', ['2,B', '3,c']);
  const dry = (
    await undo(second, withConfig('orders', { dry_run: true }))
  ).json() as RollbackReport;
  expect(dry).toMatchObject({ applied: false, dry_run: true, deleted: 1, restored: 1 });
  const blocked = await undo(first, withConfig('orders'));
  expect([blocked.status, blocked.json()]).toMatchObject([
    200,
    { applied: false, blocked: true, conflicts: 1, deleted: 0 },
  ]);
  expect(rowsOf('orders')).toEqual(['1a', '2B', '3c']);
  expect((await undo(first, withConfig('orders', { force: true }))).json()).toMatchObject({
    applied: true,
    blocked: false,
    deleted: 2,
  });
  expect(rowsOf('orders')).toEqual(['3c']);
  const { entries } = (await program.call('GET', '/v1/audit?action=run.rollback')).json() as {
    entries: { result: string; run_id: string }[];
  };
  expect(entries.map(({ result, run_id: id }) => [result, id])).toEqual([
    ['ok', first],
    ['blocked', first],
    ['dry_run', second],
  ]);
});

test('a run goes under the name of its submission, whatever the document says', async () => {
  const id = await move('named', ['1,a'], { name: 'from-the-request' });
  expect((await undo(id, withConfig('named'))).json()).toMatchObject({ applied: true, deleted: 1 });
  const again = await undo(id, withConfig('named'));
  expect(again.status).toBe(400);
  expect(sentence(again)).toContain('was already undone');
});

test('what cannot be undone is refused', async () => {
  const id = await move('refused', ['1,a']);
  const [invocation] = (await program.get(id)).invocations;
  expect((await undo('unheard-of', withConfig('refused'))).status).toBe(404);
  for (const body of [undefined, {}, { config: null }])
    expect((await undo(id, body)).status).toBe(422);
  expect((await undo(id, withConfig('refused', { invocation_id: 'another' }))).status).toBe(400);
  expect((await undo(id, withConfig('refused', { row: 'nobody' }))).status).toBe(400);
  expect((await undo(id, { config: 'version: [' })).status).toBe(400);
  expect((await undo(id, { config: 'version: 1' })).status).toBe(400);
  expect((await undo(id, { ...withConfig('refused'), bogus: 1 })).status).toBe(400);
  const elsewhere = document('refused');
  const pipeline = {
    ...(elsewhere['pipeline'] as Body),
    state: { type: 'file', config: { path: shop.path('no-state') } },
  };
  const other = await undo(id, {
    config: JSON.stringify({ ...elsewhere, pipeline }),
    config_format: 'json',
  });
  expect(other.status).toBe(400);
  const undone = await undo(
    id,
    withConfig('refused', { invocation_id: invocation?.run_id, row: 'row-0' }),
  );
  expect([undone.status, undone.json()]).toMatchObject([
    200,
    { applied: true, run_id: invocation?.run_id, row: 'row-0', sink_kind: 'sqlite' },
  ]);
});

test('of several invocations one has to be named', async () => {
  writeFileSync(shop.path('matrix.csv'), 'id,name\n1,a\n');
  const config = JSON.stringify(
    document('matrix', {
      matrix: [{ id: 'a' }, { id: 'b', sink: { config: { table_name: 'matrix_b' } } }],
    }),
  );
  const id = await program.submit(config, { config_format: 'json' });
  const { invocations } = await program.ended(id);
  const unnamed = await undo(id, { config, config_format: 'json' });
  expect(unnamed.status).toBe(400);
  for (const { run_id: one } of invocations) expect(sentence(unnamed)).toContain(one);
  const named = invocations.find(({ row_id: row }) => row === 'b')?.run_id;
  expect(
    (await undo(id, { config, config_format: 'json', invocation_id: named })).json(),
  ).toMatchObject({
    applied: true,
    row: 'b',
    deleted: 1,
  });
  expect([rowsOf('matrix'), rowsOf('matrix_b')]).toEqual([['1a'], []]);
});

test('a run that goes on cannot be undone yet', async () => {
  const api = await silentApi();
  const id = await program.submit(api.document(shop.path('slow.jsonl')));
  await api.asked();
  expect((await undo(id, withConfig('orders'))).status).toBe(409);
  api.answer();
  await program.ended(id);
  api.close();
});

test('a unit of a backfill is undone with the document of the backfill', async () => {
  const db = new DatabaseSync(shop.path('shop.db'));
  db.exec("CREATE TABLE days (id INTEGER, name TEXT); INSERT INTO days VALUES (1, 'a'), (2, 'b')");
  db.close();
  const source = (query: string): Body => ({
    type: 'sqlite',
    config: { database_url: shop.path('shop.db'), query },
  });
  const original = document('units');
  const pipeline = {
    ...(original['pipeline'] as Body),
    source: source("SELECT * FROM days WHERE id = substr('${backfill.start_date}', 10)"),
  };
  const config = JSON.stringify({ ...original, pipeline });
  const range = { from: '2026-01-01', to: '2026-01-03', window: '1d' };
  const posted = (
    await program.call('POST', '/v1/backfill', { config, config_format: 'json', ...range })
  ).json() as {
    units: { run_id: string }[];
  };
  const [first = '', second = ''] = posted.units.map(({ run_id: id }) => id);
  for (const id of [first, second]) expect((await program.ended(id)).error).toBeNull();
  expect(rowsOf('units')).toEqual(['1a', '2b']);
  const undone = await undo(second, { config, config_format: 'json' });
  expect([undone.status, undone.json()]).toMatchObject([200, { applied: true, deleted: 1 }]);
  expect(rowsOf('units')).toEqual(['1a']);
});
