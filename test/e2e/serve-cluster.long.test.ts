/** Several servers on one queue: who executes, who obeys, and what each of them knows. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabase } from '../servers/postgres.ts';
import { headgate } from './headgate.ts';
import { csvToJsonl, silentApi } from './serve-documents.ts';
import { workshop, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const shop = workshop();
const database = await freshDatabase();
let one: Program;
let two: Program;

const ARGS = ['--history', database.url, '--cluster', '--max-concurrent-runs', '1'];

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  mkdirSync(shop.path('schedules'));
  const schedule = { cron: '* * * * * *', timezone: 'UTC' };
  const often = { ...csvToJsonl(shop.path('in.csv'), shop.path('often.jsonl')), name: 'often' };
  writeFileSync(shop.path('schedules/often.json'), JSON.stringify({ ...often, schedule }));
  [one, two] = await Promise.all([shop.start({ args: ARGS }), shop.start({ args: ARGS })]);
  await eventually(async () => {
    for (const program of [one, two])
      expect((await program.call('GET', '/readyz')).json()).toMatchObject({
        cluster: { enabled: true, instances: 2 },
      });
  });
});
afterAll(async () => {
  await shop.dispose();
  await database.drop();
});

const quick = (output: string) => csvToJsonl(shop.path('in.csv'), shop.path(output));
const codeOf = (answer: { json(): unknown }) =>
  (answer.json() as { error: { code: string } }).error.code;

test('a run that is submitted to a busy server is executed by another one', async () => {
  const api = await silentApi();
  const blocked = await one.submit({
    ...api.document(shop.path('blocked.jsonl')),
    name: 'blocked',
  });
  await api.asked();
  const other = await silentApi();
  const blocking = await one.submit({ ...other.document(shop.path('other.jsonl')), name: 'other' });
  await other.asked();
  expect([(await one.get(blocked)).status, (await two.get(blocking)).status]).toEqual([
    'running',
    'running',
  ]);
  const members = (await one.call('GET', '/v1/cluster')).json() as {
    members: { in_flight: number; is_self: boolean }[];
  };
  expect(members.members.filter(({ is_self }) => is_self)).toHaveLength(1);
  expect(members.members).toHaveLength(2);
  api.answer();
  other.answer();
  for (const id of [blocked, blocking])
    expect(await two.ended(id)).toMatchObject({ status: 'completed', attempt: 0 });
  api.close();
  other.close();
});

test('any server cancels a run that waits, and one that another executes, and deletes both', async () => {
  const apis = [await silentApi(), await silentApi()];
  const running = await Promise.all(
    apis.map((api, n) =>
      one.submit({ ...api.document(shop.path(`c${n}.jsonl`)), name: `cancel-${n}` }),
    ),
  );
  await Promise.all(apis.map((api) => api.asked()));
  const waiting = await two.submit(quick('waiting.jsonl'));
  expect((await two.get(waiting)).status).toBe('queued');
  expect((await two.call('DELETE', `/v1/runs/${waiting}`)).status).toBe(409);
  expect((await one.call('POST', `/v1/runs/${waiting}/cancel`)).status).toBe(202);
  expect(await two.ended(waiting)).toMatchObject({ status: 'cancelled', started_at: null });
  for (const id of running)
    for (const program of [one, two]) await program.call('POST', `/v1/runs/${id}/cancel`);
  for (const id of running) expect((await two.ended(id)).status).toBe('cancelled');
  for (const id of [waiting, ...running])
    expect((await two.call('DELETE', `/v1/runs/${id}`)).status).toBe(204);
  expect((await one.call('GET', `/v1/runs/${waiting}`)).status).toBe(404);
  for (const api of apis) api.close();
});

test('the log of a run is followed on every server while it executes on one', async () => {
  const api = await silentApi();
  const id = await one.submit({ ...api.document(shop.path('log.jsonl')), name: 'log' });
  const streams = [one, two].map((program) => program.call('GET', `/v1/runs/${id}/logs`));
  await api.asked();
  api.answer();
  for (const stream of await Promise.all(streams)) {
    expect(stream.text).toContain('pipeline run starting');
    expect(stream.text).toContain('pipeline run completed');
    expect(stream.text).toMatch(/event: end\ndata: done/);
  }
  for (const program of [one, two]) {
    const log = await program.call('GET', `/v1/runs/${id}/logs?format=text`);
    expect(log.text.match(/pipeline run starting/g)).toHaveLength(1);
  }
  api.close();
});

test('a key is used once, whichever server is asked', async () => {
  const ids = await Promise.all(
    [one, two, one, two].map((program) =>
      program.submit(quick('key.jsonl'), { idempotency_key: 'once' }),
    ),
  );
  expect(new Set(ids).size).toBe(1);
  expect(await one.ended(ids[0] ?? '')).toMatchObject({ status: 'completed', records_written: 2 });
  expect([one, two].map((program) => program.output()).join('')).toMatch(
    new RegExp(`records may be written a second time.*run_id=${ids[0]} rows=row-0`),
  );
  expect(readFileSync(shop.path('key.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
});

test('what other servers cannot know is refused', async () => {
  const submit = async (callback: unknown): Promise<unknown[]> => {
    const config = JSON.stringify(quick('no.jsonl'));
    const answer = await one.call('POST', '/v1/runs', { config, callback });
    return [answer.status, codeOf(answer)];
  };
  const url = 'https://receiver.example/';
  expect(await submit({ url, headers: { 'x-a': 'b' } })).toEqual([422, 'unprocessable']);
  expect(await submit({ url: 'https://me:secret@receiver.example/' })).toEqual([
    422,
    'unprocessable',
  ]);
  const template = {
    id: 'secretive',
    launch: true,
    config: JSON.stringify({
      ...quick('t.jsonl'),
      params: { key: { type: 'string', secret: true, default: 'x' } },
    }),
  };
  const registered = await one.call('POST', '/v1/templates', template);
  expect(registered.status, registered.text).toBe(201);
  const run = await two.call('POST', '/v1/templates/secretive/runs', {});
  expect([run.status, codeOf(run)]).toEqual([422, 'unprocessable']);
  expect(run.text).toContain('`key` is secret');
});

test('a server that works alone is refused beside them, and the other way round', async () => {
  const { code, stderr } = await headgate(
    ['serve', '--no-auth', '--listen', '127.0.0.1:0', '--history', database.url],
    { cwd: shop.dir },
  );
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('with --cluster')]);
  expect(code).not.toBe(0);
});

test('a tick has one run, and a schedule that is paused on one server is paused on all', async () => {
  const args = [...ARGS, '--schedules', shop.path('schedules')];
  const [three, four] = await Promise.all([shop.start({ args }), shop.start({ args })]);
  const runsOf = async (): Promise<readonly { labels: Record<string, string> }[]> =>
    (await one.list('?name=often&limit=500')).runs;
  await eventually(async () => expect((await runsOf()).length).toBeGreaterThan(2));
  expect((await three.call('POST', '/v1/schedules/often/pause')).status).toBe(200);
  const stateOn = async (program: Program): Promise<unknown> =>
    ((await program.call('GET', '/v1/schedules/often')).json() as { state: string }).state;
  await eventually(async () => expect(await stateOn(four)).toBe('paused'));
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const count = (await runsOf()).length;
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect((await runsOf()).length).toBe(count);
  expect((await four.call('POST', '/v1/schedules/often/resume')).status).toBe(200);
  await eventually(async () => expect(await stateOn(three)).toBe('active'));
  await eventually(async () => expect((await runsOf()).length).toBeGreaterThan(count));
  for (const program of [three, four]) expect(await program.stop()).toBe(0);
  const ticks = (await runsOf()).map(({ labels }) => labels['tick']);
  expect(new Set(ticks).size).toBe(ticks.length);
});

test('what one server is told to read again, all read', async () => {
  expect((await one.call('POST', '/v1/reload')).status).toBe(200);
  await eventually(async () => {
    const audit = (await two.call('GET', '/v1/audit?action=config.reload')).json() as {
      entries: { principal: string }[];
    };
    const principals = audit.entries.map(({ principal }) => principal);
    expect(principals.filter((name) => name === 'cluster')).toHaveLength(1);
    expect(principals).toHaveLength(2);
  });
});

test('its members are listed by the command line, and measured', async () => {
  const { stdout } = await headgate(['cluster', 'status', '--server', one.url], { cwd: shop.dir });
  expect(stdout.match(/alive/g)).toHaveLength(2);
  // A heartbeat counts the members: until the next one, servers that have just left are among them.
  await eventually(async () => {
    const metrics = (await two.call('GET', '/metrics')).text;
    expect(metrics).toMatch(/^svc_serve_cluster_enabled 1$/m);
    expect(metrics).toMatch(/^svc_serve_cluster_instances 2$/m);
  });
  const claimed = await Promise.all([one, two].map((program) => program.call('GET', '/metrics')));
  const counts = claimed.map(({ text }) => /^svc_serve_runs_claimed_total (\d+)$/m.exec(text)?.[1]);
  expect(counts.every((count) => Number(count) > 0)).toBe(true);
});
