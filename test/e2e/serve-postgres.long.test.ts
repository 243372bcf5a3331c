/** The control plane with its history in PostgreSQL: restarts, two servers on one database, and outages. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tcpProxy, type TcpProxy } from '../fakes/tcp-proxy.ts';
import { freshDatabase } from '../servers/postgres.ts';
import { csvToJsonl, silentApi } from './serve-documents.ts';
import { workshop, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const PASSWORD = 'canary-in-the-address';
const LOGIN = `login_${randomBytes(6).toString('hex')}`;
const shop = workshop();
const database = await freshDatabase();
let proxy: TcpProxy;

beforeAll(async () => {
  await administer(
    `CREATE ROLE ${LOGIN} LOGIN PASSWORD '${PASSWORD}'; GRANT CREATE ON DATABASE ${new URL(database.url).pathname.slice(1)} TO ${LOGIN}`,
  );
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  const { hostname, port } = new URL(database.url);
  proxy = await tcpProxy({ host: hostname, port: Number(port) });
});
afterAll(async () => {
  await shop.dispose();
  await proxy.close();
  await database.drop();
  const role = await freshDatabase();
  await administer(`DROP ROLE ${LOGIN}`, role.url);
  await role.drop();
});

async function administer(sql: string, url = database.url): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

function historyIn(schema: string): string {
  const url = new URL(database.url);
  url.port = String(proxy.port);
  url.searchParams.set('schema', schema);
  return url.href;
}

const quick = (output: string, name = 'quick') =>
  csvToJsonl(shop.path('in.csv'), shop.path(output), { name });
const start = (schema: string, args: readonly string[] = []): Promise<Program> =>
  shop.start({ args: ['--history', historyIn(schema), ...args] });
const errorOf = (answer: { json(): unknown }) =>
  (answer.json() as { error: { code: string } }).error.code;

test('runs, logs, audit, catalog, templates and schedules are there after a restart', async () => {
  const before = await start('restart');
  await eventually(() => expect(before.output()).toContain('history: postgres (127.0.0.1:'));
  const key = { idempotency_key: 'k' };
  const id = await before.submit(quick('restart.jsonl'), key);
  expect(await before.ended(id)).toMatchObject({ status: 'completed', records_written: 2 });
  const template = { id: 't', config: JSON.stringify(quick('template.jsonl', 't')), launch: true };
  expect((await before.call('POST', '/v1/templates', template)).status).toBe(201);
  expect(await before.stop()).toBe(0);
  expect(existsSync(shop.path('.headgate/history.db'))).toBe(false);

  const after = await start('restart');
  expect(await after.submit(quick('restart.jsonl'), key)).toBe(id);
  const log = await after.call('GET', `/v1/runs/${id}/logs?format=text`);
  expect(log.text).toContain('pipeline run starting');
  const datasets = await after.call('GET', '/v1/catalog/datasets');
  expect(datasets.text).toContain('restart.jsonl');
  const audit = await after.call('GET', '/v1/audit?action=run.submit');
  expect(audit.text).toContain(id);
  const run = await after.call('POST', '/v1/templates/t/runs', {});
  expect(run.status, run.text).toBe(202);
  expect(await after.stop()).toBe(0);
});

test('two servers on one database see each other’s runs, and use a key once', async () => {
  const [one, two] = await Promise.all([start('shared'), start('shared')]);
  const ids = await Promise.all(
    [one, two, one, two].map((program) =>
      program.submit(quick('k.jsonl'), { idempotency_key: 'k' }),
    ),
  );
  expect(new Set(ids).size).toBe(1);
  const id = await one.submit(quick('seen.jsonl'));
  await two.ended(id);
  expect((await two.list()).runs).toHaveLength(2);
  expect((await two.call('DELETE', `/v1/runs/${id}`)).status).toBe(204);
  expect((await one.call('GET', `/v1/runs/${id}`)).status).toBe(404);
});

test('a run goes on while the database is away, and its record arrives when it is back', async () => {
  const api = await silentApi();
  const program = await start('outage');
  const running = await program.submit(api.document(shop.path('running.jsonl')));
  await program.until(running, 'running');
  await api.asked();
  proxy.cut();
  try {
    const refused = await program.call('POST', '/v1/runs', {
      config: JSON.stringify(quick('no.jsonl')),
    });
    expect([refused.status, errorOf(refused)]).toEqual([503, 'unavailable']);
    // The first one waited five seconds for the database; who comes after it does not.
    const begun = performance.now();
    const again = await program.call('POST', '/v1/runs', {
      config: JSON.stringify(quick('no.jsonl')),
      idempotency_key: 'k',
    });
    expect(again.status).toBe(503);
    expect(performance.now() - begun).toBeLessThan(4500);
    const ready = await program.call('GET', '/readyz');
    expect(ready.status).toBe(503);
    expect(ready.json()).toMatchObject({ status: 'not_ready', history_ok: false });
    const metrics = await program.call('GET', '/metrics');
    expect(metrics.text).toMatch(/^svc_serve_history_degraded 1$/m);
    expect((await program.call('GET', '/healthz')).status).toBe(200);
    expect((await program.call('GET', '/v1/schemas')).status).toBe(200);
    expect((await program.call('GET', '/v1/runs')).status).toBe(503);
    // It executes here: it is known without the database.
    expect(await program.get(running)).toMatchObject({ status: 'running', run_id: running });
    api.answer();
    await eventually(() => expect(existsSync(shop.path('running.jsonl'))).toBe(true));
  } finally {
    proxy.heal();
  }
  expect(await program.ended(running)).toMatchObject({ status: 'completed', records_written: 1 });
  await eventually(async () => expect((await program.call('GET', '/readyz')).status).toBe(200));
  const log = await program.call('GET', `/v1/runs/${running}/logs?format=text`);
  expect(log.text).toContain('pipeline run starting');
  expect((await program.list()).runs).toHaveLength(1);
  expect(await program.ended(await program.submit(quick('yes.jsonl')))).toMatchObject({
    status: 'completed',
  });
  expect(await program.stop()).toBe(0);
  api.close();
});

test('a server starts without its database, says so, and begins its work when it is there', async () => {
  mkdirSync(shop.path('schedules'));
  const schedule = { cron: '* * * * * *', timezone: 'UTC' };
  writeFileSync(
    shop.path('schedules/often.json'),
    JSON.stringify({ ...quick('often.jsonl', 'often'), schedule }),
  );
  proxy.cut();
  let program: Program;
  try {
    program = await start('late', ['--schedules', shop.path('schedules')]);
    expect((await program.call('GET', '/readyz')).json()).toMatchObject({ history_ok: false });
    const config = JSON.stringify(quick('late.jsonl'));
    expect((await program.call('POST', '/v1/runs', { config })).status).toBe(503);
  } finally {
    proxy.heal();
  }
  const ready = async (): Promise<void> =>
    expect((await program.call('GET', '/readyz')).status).toBe(200);
  await eventually(ready);
  expect(await program.ended(await program.submit(quick('late.jsonl')))).toMatchObject({
    status: 'completed',
  });
  const ticks = async (): Promise<void> =>
    expect((await program.list('?name=often')).runs.length).toBeGreaterThan(1);
  await eventually(ticks);
  expect(await program.stop()).toBe(0);
});

test('the password of the address is in no output, answer or log, and no document reads it', async () => {
  const url = new URL(historyIn('canary'));
  [url.username, url.password] = [LOGIN, PASSWORD];
  const program = await shop.start({
    variables: { HEADGATE_SERVE_HISTORY: url.href, PGPASSWORD: 'x', COPY: `of ${PASSWORD}` },
  });
  for (const name of ['HEADGATE_SERVE_HISTORY', 'PGPASSWORD', 'COPY']) {
    const config = JSON.stringify({ ...quick('canary.jsonl'), name: `\${env:${name}}` });
    const answer = await program.call('POST', '/v1/runs', { config });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(PASSWORD);
  }
  proxy.cut();
  try {
    const answer = await program.call('POST', '/v1/runs', {
      config: JSON.stringify(quick('c.jsonl')),
    });
    expect(answer.text).not.toContain(PASSWORD);
  } finally {
    proxy.heal();
  }
  expect(program.output()).toContain('the history store does not answer');
  expect(program.output()).not.toContain(PASSWORD);
});
