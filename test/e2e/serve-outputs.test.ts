/** The ledger of output files, as a server keeps it over days, overlapping runs and crashes. */
import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentApi } from './serve-documents.ts';
import { workshop, type Body, type Program } from './serve-program.ts';

const shop = workshop();
let api: Awaited<ReturnType<typeof silentApi>>;
let program: Program;

beforeAll(async () => {
  api = await silentApi();
  program = await shop.start({
    args: ['--history', 'memory', '--local-output-in-flight-grace-secs', '0'],
  });
});
afterAll(async () => {
  await shop.dispose();
  api.close();
});

async function outputs(query: string): Promise<Body[]> {
  return ((await program.call('GET', `/v1/local-outputs?${query}`)).json() as { outputs: Body[] })
    .outputs;
}

/** Writes one record, and then waits for the next page. */
function endless(name: string): Body {
  const { pipeline } = api.document(shop.path(`${name}.jsonl`)) as {
    pipeline: { source: { config: Body } };
  };
  pipeline.source.config['pagination'] = { type: 'PageNumber' };
  return { version: 1, name, pipeline };
}

async function firstPage(name: string): Promise<string> {
  const run = await program.submit(endless(name));
  await api.asked();
  api.answer();
  await expect
    .poll(() => outputs(`pipeline=${name}`))
    .toMatchObject([{ run_id: run, pre_existing: false }]);
  return run;
}

test('files of all days belong to the data set that the catalog knows', async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
  const source = { type: 'csv', config: { path: shop.path('in.csv') } };
  const path = join(basename(shop.fresh('dated')), '${now.date}.jsonl');
  const deleted = async (): Promise<number> => {
    const { text } = await program.call('GET', '/metrics');
    return Number(/^svc_local_outputs_deleted_total{scope="dataset"} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  const deletedBefore = await deleted();
  const document = {
    version: 1,
    name: 'dated',
    pipeline: { source, sink: { type: 'jsonl', config: { path } } },
  };
  for (const clock of ['2026-01-01', '2026-01-02'])
    await program.ended(await program.submit(document, { clock: `${clock}T00:00:00Z` }));
  const catalogued = async (): Promise<Body[]> => {
    const answer = await program.call('GET', '/v1/catalog/datasets?kind=jsonl');
    const { datasets } = answer.json() as { datasets: Body[] };
    return datasets.filter(({ uri }) => uri === `file://${shop.path(path)}`);
  };
  await expect.poll(catalogued).toMatchObject([{ runs: 2 }]);
  const id = String((await catalogued())[0]?.['id']);
  await expect.poll(() => outputs(`dataset_id=${id}`)).toHaveLength(2);
  expect(
    (await program.call('POST', '/v1/local-outputs/cleanup', { dataset_id: id })).json(),
  ).toMatchObject({ deleted: 2 });
  expect(await deleted()).toBe(deletedBefore + 2);
});

test.each([
  [{}, 'no scope is named — give exactly one of older_than_days, expired, dataset_id, run_id, all'],
  [{ all: true, expired: true }, 'several scopes are named: expired, all'],
  [{ all: true }, 'this deletes every file of the ledger — say so with `confirm: true`'],
  [{ older_than_days: 0 }, 'confirm: this deletes every file of the ledger'],
])('a clean-up that asks for %j is told what is wrong with it', async (body, message) => {
  const answer = await program.call('POST', '/v1/local-outputs/cleanup', body);
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { error: { code: 'bad_config', message: expect.stringContaining(message) } },
  ]);
});

test('a file that a run is writing is not deleted', async () => {
  const run = await firstPage('busy');
  const [output] = await outputs('pipeline=busy');
  expect(
    (await program.call('DELETE', `/v1/local-outputs/${String(output?.['id'])}`)).json(),
  ).toMatchObject({ skipped: 'in_flight' });
  await program.call('POST', `/v1/runs/${run}/cancel`);
  await program.endedAtLast(run);
  api.answer();
  expect(
    (await program.call('POST', '/v1/local-outputs/cleanup', { run_id: run })).json(),
  ).toMatchObject({ deleted: 1 });
});

test('the record of a run says when its files are deleted', async () => {
  writeFileSync(shop.path('two.csv'), 'id\n1\n');
  writeFileSync(shop.path('theirs.jsonl'), '{}\n');
  const source = { type: 'csv', config: { path: shop.path('two.csv') } };
  const writing = async (config: Body, more: Body = {}): Promise<Body | undefined> => {
    const pipeline = { source, sink: { type: 'jsonl', config } };
    const run = await program.ended(
      await program.submit({ version: 1, name: 'dates', pipeline, ...more }),
    );
    return run.invocations[0];
  };
  const path = join(shop.fresh('dates'), 'said.jsonl');
  const made = await writing({ path });
  const date = made?.['outputs_expire_at'];
  expect(date).toMatch(/^\d{4}-/);
  await expect
    .poll(async () => (await outputs('pipeline=dates')).find((output) => output['path'] === path))
    .toMatchObject({ expires_at: date });
  for (const invocation of [
    await writing({ path }, { local_outputs: { retention_days: 0 } }),
    await writing({ path }, { local_outputs: { track: false } }),
    await writing({ path: shop.path('theirs.jsonl'), append: true }),
  ])
    expect(invocation).not.toHaveProperty('outputs_expire_at');
});

test('a file of a run whose process died is known, and stays the one of the service', async () => {
  const run = await firstPage('killed');
  for (const worker of program.workers()) process.kill(worker, 'SIGKILL');
  expect((await program.endedAtLast(run)).status).toBe('failed');
  api.answer();
  await program.ended(await program.submit({ ...endless('killed'), ...done('killed') }));
  await expect
    .poll(() => outputs('pipeline=killed'))
    .toMatchObject([{ state: 'present', pre_existing: false }]);
  expect(
    (await program.call('POST', '/v1/local-outputs/cleanup', { all: true, confirm: true })).json(),
  ).toMatchObject({ deleted: 1 });
  expect(existsSync(shop.path('killed.jsonl'))).toBe(false);
});

function done(name: string): Body {
  return {
    pipeline: {
      source: { type: 'csv', config: { path: shop.path('in.csv') } },
      sink: { type: 'jsonl', config: { path: shop.path(`${name}.jsonl`) } },
    },
  };
}
