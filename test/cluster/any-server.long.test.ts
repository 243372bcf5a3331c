/** What is asked of a server that did not execute the run: as if there were only one. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RollbackReport } from '../../src/wire/rollback.ts';
import { freshDatabase } from '../servers/postgres.ts';
import { workshop, type Answer, type Body, type Program } from '../e2e/serve-program.ts';
import { executedBy, untilTogether } from './servers.ts';

const shop = workshop();
const database = await freshDatabase();
let servers: readonly Program[] = [];

beforeAll(async () => {
  const args = ['--history', database.url, '--cluster', '--max-concurrent-runs', '2'];
  const files = ['--preview-local-outputs', '--local-output-in-flight-grace-secs', '0'];
  servers = await Promise.all([1, 2].map(() => shop.start({ args: [...args, ...files] })));
  await untilTogether(servers);
});
afterAll(async () => {
  await shop.dispose();
  await database.drop();
});

const json = (answer: Answer): Body => {
  expect(answer.status, answer.text).toBe(200);
  return answer.json() as Body;
};
const sentenceOf = (answer: Answer): [number, string] => [
  answer.status,
  (answer.json() as { error: { message: string } }).error.message,
];
const textOf = (name: string): string => readFileSync(shop.path(name), 'utf8');
const linesOf = (name: string): unknown[] =>
  textOf(name)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

/** Gives the server that did not execute it, and the one that did. */
async function executed(id: string): Promise<{ other: Program; holder: Program }> {
  const { holder, others } = await executedBy(database.url, id, servers);
  const [other] = others;
  if (other === undefined) throw new Error('there are two servers');
  expect((await other.ended(id)).error).toBeNull();
  return { other, holder };
}
async function run(document: Body, settings: Body = {}): Promise<string> {
  const [first] = servers;
  if (first === undefined) throw new Error('there are two servers');
  const id = await first.submit(document, settings);
  await first.ended(id);
  return id;
}

function people(name: string, more: Body = {}): Body {
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
function rowsOf(table: string): string[] {
  const db = new DatabaseSync(shop.path('shop.db'));
  const rows = db.prepare(`SELECT id, name FROM ${table} ORDER BY id`).all();
  db.close();
  return rows.map((row) => `${String(row['id'])}${String(row['name'])}`);
}
const lines = (name: string, ...rows: readonly string[]): void =>
  writeFileSync(shop.path(`${name}.csv`), ['id,name', ...rows, ''].join('\n'));

test('a run is undone without its document being sent again', async () => {
  lines('orders', '1,a', '2,b');
  const first = await run(people('orders'));
  lines('orders', '2,B', '3,c');
  const second = await run(people('orders'));
  const undo = async (id: string, body?: Body): Promise<RollbackReport> => {
    const { other } = await executed(id);
    return json(
      await other.call('POST', `/v1/runs/${id}/rollback`, body),
    ) as unknown as RollbackReport;
  };
  expect(await undo(second, { dry_run: true })).toMatchObject({ applied: false, restored: 1 });
  expect(await undo(first)).toMatchObject({ applied: false, blocked: true, conflicts: 1 });
  expect(rowsOf('orders')).toEqual(['1a', '2B', '3c']);
  expect(await undo(second)).toMatchObject({ applied: true, deleted: 1, restored: 1 });
  expect(await undo(first)).toMatchObject({ applied: true, deleted: 2 });
  expect(rowsOf('orders')).toEqual([]);
});

test('a run of a template is undone with the values that it was given', async () => {
  lines('bound', '1,a');
  const [one] = servers;
  if (one === undefined) throw new Error('there are two servers');
  const template = people('bound', { params: { table: { required: true } } });
  const { pipeline } = template as { pipeline: { sink: { config: Body } } };
  pipeline.sink.config['table_name'] = '${param.table}';
  const body = { id: 'bound', launch: true, config: JSON.stringify(template) };
  expect((await one.call('POST', '/v1/templates', body)).status).toBe(201);
  const started = await one.call('POST', '/v1/templates/bound/runs', {
    params: { table: 'chosen' },
  });
  expect(started.status, started.text).toBe(202);
  const { run_id: id } = started.json() as { run_id: string };
  await one.ended(id);
  const { other } = await executed(id);
  expect(rowsOf('chosen')).toEqual(['1a']);
  expect(json(await other.call('POST', `/v1/runs/${id}/rollback`))).toMatchObject({
    applied: true,
    deleted: 1,
  });
  expect(rowsOf('chosen')).toEqual([]);
});

test('a document with credentials in it is not kept: it has to be sent', async () => {
  const document = people('secret');
  const { pipeline } = document as { pipeline: { source: Body } };
  const [url, query] = [database.url, "SELECT 1 AS id, 'a' AS name"];
  pipeline.source = { type: 'postgres', config: { connection_url: url, query } };
  const id = await run(document);
  const { other } = await executed(id);
  const route = `/v1/runs/${id}/rollback`;
  const [status, message] = sentenceOf(await other.call('POST', route));
  expect([status, message]).toEqual([
    422,
    'the document of the run is not stored here — send it as `config`',
  ]);
  const config = JSON.stringify(document);
  expect(json(await other.call('POST', route, { config, config_format: 'json' }))).toMatchObject({
    applied: true,
    deleted: 1,
  });
});

test('what cannot be undone is refused as everywhere', async () => {
  lines('refused', '1,a');
  const id = await run(people('refused'));
  const { other } = await executed(id);
  const undo = (runId: string, body?: Body): Promise<Answer> =>
    other.call('POST', `/v1/runs/${runId}/rollback`, body);
  expect((await undo('unheard-of')).status).toBe(404);
  expect((await undo(id, { invocation_id: 'another' })).status).toBe(400);
  expect((await undo(id, { row: 'nobody' })).status).toBe(400);
  expect((await undo(id)).status).toBe(200);
  expect(sentenceOf(await undo(id))).toEqual([
    400,
    expect.stringContaining('was already undone') as string,
  ]);
});

test('a destination is compared and repaired', async () => {
  lines('compared', '1,a', '2,b');
  const document = people('compared', { verify: {} });
  const id = await run(document);
  const { other } = await executed(id);
  const verify = async (more: Body = {}): Promise<Body> =>
    json(
      await other.call('POST', '/v1/verify', {
        config: JSON.stringify(document),
        config_format: 'json',
        ...more,
      }),
    );
  expect(await verify()).toMatchObject({ differences: [] });
  const db = new DatabaseSync(shop.path('shop.db'));
  db.exec("UPDATE compared SET name = 'changed' WHERE id = '2'");
  db.close();
  expect(await verify()).toMatchObject({ differences: [{ kind: 'changed' }] });
  expect(await verify({ repair: true })).toMatchObject({ repaired_upserts: 1 });
  expect(rowsOf('compared')).toEqual(['1a', '2b']);
});

test('a backfill that is posted to all of them has one run for each window', async () => {
  const db = new DatabaseSync(shop.path('shop.db'));
  db.exec("CREATE TABLE days AS SELECT 1 AS id, '2026-01-01' AS day UNION SELECT 2, '2026-01-02'");
  db.close();
  const query = "SELECT id FROM days WHERE day = '${backfill.start_date}'";
  const source = { type: 'sqlite', config: { database_url: shop.path('shop.db'), query } };
  const path = shop.path('day-${backfill.unit}.jsonl');
  const sink = { type: 'jsonl', config: { path, append: true } };
  const config = JSON.stringify({ version: 1, name: 'days', pipeline: { source, sink } });
  const body = { config, config_format: 'json', from: '2026-01-01', to: '2026-01-03' };
  const post = async (server: Program): Promise<Body> => {
    const answer = await server.call('POST', '/v1/backfill', { ...body, window: '1d' });
    expect(answer.status, answer.text).toBe(202);
    return answer.json() as Body;
  };
  const [receipt, ...again] = await Promise.all([...servers, ...servers].map(post));
  for (const other of again) expect(other).toEqual(receipt);
  const { units } = receipt as { units: { unit: string; run_id: string }[] };
  expect(units).toHaveLength(2);
  for (const [n, { unit, run_id: id }] of units.entries()) {
    await servers[0]?.ended(id);
    const { other } = await executed(id);
    // Posted again where none of it was executed.
    expect(await post(other)).toEqual(receipt);
    expect(linesOf(`day-${unit}.jsonl`)).toEqual([{ id: n + 1 }]);
  }
  const { runs } = (await servers[1]?.list('?limit=500')) ?? { runs: [] };
  expect(runs.filter(({ labels }) => labels['backfill'] !== undefined)).toHaveLength(2);
});

test('dead letters are looked at, replayed and discarded', async () => {
  writeFileSync(shop.path('checked.csv'), 'id,qty\n1,2\n2,\n');
  const location = shop.path('dead.jsonl');
  const checked = (field: string): Body => ({
    version: 1,
    name: 'checked',
    pipeline: {
      source: { type: 'csv', config: { path: shop.path('checked.csv') } },
      transforms: [{ type: 'cast', config: { fields: { qty: 'int' }, on_error: 'null' } }],
      quality: { record: [{ type: 'not_null', field, on_failure: 'quarantine' }] },
      sink: { type: 'jsonl', config: { path: shop.path('checked.jsonl') } },
      dlq: { sink: { type: 'jsonl', config: { path: location } } },
    },
  });
  const { other } = await executed(await run(checked('qty')));
  expect(json(await other.call('POST', '/v1/dlq/inspect', { location }))).toMatchObject({
    total_envelopes: 1,
    by_reason: { quality: 1 },
  });
  const config = JSON.stringify(checked('id'));
  expect(
    json(
      await other.call('POST', '/v1/dlq/replay', { config, config_format: 'json', from: location }),
    ),
  ).toMatchObject({ candidates: 1, records_written: 1 });
  expect(linesOf('checked.jsonl')).toHaveLength(2);
  expect(json(await other.call('POST', '/v1/dlq/discard', { location }))).toMatchObject({
    discarded: 1,
  });
  expect(textOf('dead.jsonl')).toBe('');
});

test('files that a run wrote are listed, shown and deleted', async () => {
  lines('written', '1,a', '2,b');
  const file = shop.path('written.jsonl');
  const source = { type: 'csv', config: { path: shop.path('written.csv') } };
  const sink = { type: 'jsonl', config: { path: file } };
  const id = await run({ version: 1, name: 'written', pipeline: { source, sink } });
  const { other, holder } = await executed(id);
  const list = async (server: Program): Promise<Body[]> =>
    (json(await server.call('GET', '/v1/local-outputs?pipeline=written')) as { outputs: Body[] })
      .outputs;
  await expect.poll(() => list(other)).toMatchObject([{ run_id: id, state: 'present' }]);
  const [output] = await list(other);
  const route = `/v1/local-outputs/${String(output?.['id'])}`;
  expect(json(await other.call('GET', `${route}/preview`))).toMatchObject({
    rows: [
      { id: '1', name: 'a' },
      { id: '2', name: 'b' },
    ],
  });
  expect(json(await other.call('DELETE', route))).toMatchObject({ deleted: 1 });
  expect(existsSync(file)).toBe(false);
  expect(await list(holder)).toEqual([]);
  expect((await holder.call('GET', `${route}/preview`)).status).toBe(409);
  for (const server of servers) {
    const catalogued = async (): Promise<Body> =>
      json(await server.call('GET', '/v1/catalog/datasets?q=written.csv'));
    await expect
      .poll(catalogued)
      .toMatchObject({ datasets: [{ last_run_id: id, last_records: 2 }] });
  }
});

test('a run is run again, shown, deleted, and told of in the audit log', async () => {
  lines('again', '1,a');
  const id = await run(people('again'));
  const { other, holder } = await executed(id);
  const again = await other.call('POST', `/v1/runs/${id}/rerun`);
  expect(again.status, again.text).toBe(202);
  const { run_id: second } = again.json() as { run_id: string };
  expect(await holder.ended(second)).toMatchObject({ status: 'completed', records_written: 1 });
  expect((await other.call('DELETE', `/v1/runs/${id}`)).status).toBe(204);
  expect((await holder.call('GET', `/v1/runs/${id}`)).status).toBe(404);
  for (const server of servers) {
    const { entries } = json(await server.call('GET', '/v1/audit?limit=3')) as { entries: Body[] };
    expect(entries.map(({ action, run_id }) => [action, run_id])).toEqual([
      ['run.delete', id],
      ['run.rerun', id],
      ['run.submit', second],
    ]);
  }
});

test('what each of them measured adds up to what all runs did', async () => {
  // What was measured before another try of this test counts as well.
  const name = `measured_${randomUUID().slice(0, 8)}`;
  lines(name, '1,a', '2,b', '3,c');
  const [one, two] = servers;
  if (one === undefined || two === undefined) throw new Error('there are two servers');
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      (n % 2 === 0 ? one : two).submit(people(name, { rollback: undefined })),
    ),
  );
  for (const id of ids) await two.ended(id);
  const sumOf = async (series: RegExp): Promise<number> => {
    const texts = await Promise.all(
      servers.map(async (server) => (await server.call('GET', '/metrics')).text),
    );
    return texts
      .flatMap((text) => [...text.matchAll(series)])
      .reduce((sum, [, value]) => sum + Number(value), 0);
  };
  // A server counts a run when its end is on record, which the other one may see before.
  const written = new RegExp(`^svc_sink_records_total\\{pipeline="${name}".*\\} (\\d+)$`, 'gm');
  await expect.poll(() => sumOf(written)).toBe(8 * 3);
  const { runs } = await one.list('?limit=500');
  const { entries } = json(await one.call('GET', '/v1/audit?action=run.delete')) as {
    entries: Body[];
  };
  await expect
    .poll(() => sumOf(/^svc_serve_runs_total\{status="completed".*\} (\d+)$/gm))
    .toBe(runs.filter(({ status }) => status === 'completed').length + entries.length);
  expect(await sumOf(/^svc_serve_runs_claimed_total (\d+)$/gm)).toBe(runs.length + entries.length);
});
