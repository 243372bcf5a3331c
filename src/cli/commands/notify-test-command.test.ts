import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { parts } from '../../parts.ts';
import { runCommand, testWiring } from '../../../test/support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'headgate-notify-'));
let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer(() => ({ body: 'ok' }));
  const rules = [
    {
      name: 'chat',
      min_severity: 'critical',
      dedupe_window_secs: 60,
      channel: { type: 'slack', config: { webhook_url: `${server.url}/chat` } },
    },
    {
      name: 'page',
      channel: {
        type: 'pagerduty',
        config: { routing_key: 'the-routing-key', endpoint: `${server.url}/page` },
      },
    },
    {
      name: 'hook',
      dlq_threshold: 50,
      channel: { type: 'webhook', config: { url: `${server.url}/hook` } },
    },
  ];
  const pipeline = {
    source: { type: 'csv', config: { path: 'in.csv' } },
    sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
  };
  writeFileSync(
    join(dir, 'orders.json'),
    JSON.stringify({ version: 1, name: 'orders', pipeline, notifications: rules }),
  );
  writeFileSync(join(dir, 'silent.json'), JSON.stringify({ version: 1, name: 'orders', pipeline }));
});
afterEach(() => {
  server.requests.length = 0;
  server.respond(() => ({ body: 'ok' }));
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true });
});

async function notify(...args: string[]) {
  const words = ['notify', 'test', ...args];
  const done = await runCommand(words, testWiring(parts), { cwd: dir, over: { fetch } });
  return {
    ...done,
    paths: server.requests.map(({ path }) => path).sort(),
  };
}

const bodies = (path: string): Record<string, unknown>[] =>
  server.requests
    .filter((request) => request.path === path)
    .map((request) => request.json() as Record<string, unknown>);

test('every rule is sent a failure, whatever it asks for, and the answer says which would be silent', async () => {
  const { code, out, paths } = await notify('orders.json');
  expect([code, paths]).toEqual([0, ['/chat', '/hook', '/page']]);
  expect(out).toMatch(/chat +slack +sent\npage +pagerduty +sent\nhook +webhook +sent\n/);
  expect(out).toContain('1 rule would not send such an event by itself: `chat`');
  expect(bodies('/hook')).toEqual([
    {
      event: 'run_failure',
      severity: 'error',
      pipeline: 'orders',
      row: '',
      run_id: 'id-1',
      invocation_id: 'id-2',
      started_at: '2026-01-31T08:00:00.000Z',
      finished_at: '2026-01-31T08:00:00.000Z',
      duration_secs: 0,
      title: 'pipeline failed: orders (test)',
      message: 'this is a test of the notification rules: nothing has happened',
      details: { error_kind: 'error' },
    },
  ]);
});

test('a success is nothing to incidents, and so many records go to the dead letters as the rules wait for', async () => {
  expect((await notify('orders.json', '--event', 'run_success')).paths).toEqual(['/chat', '/hook']);
  server.requests.length = 0;
  const { out } = await notify('orders.json', '--event', 'dlq_threshold', '--json');
  expect(bodies('/hook')).toMatchObject([{ event: 'dlq_threshold', details: { records_dlq: 50 } }]);
  expect(JSON.parse(out)).toEqual({
    pipeline: 'orders',
    event: 'dlq_threshold',
    rules: [
      { rule: 'chat', channel: 'slack', wanted: false, outcome: 'sent' },
      { rule: 'page', channel: 'pagerduty', wanted: true, outcome: 'sent' },
      { rule: 'hook', channel: 'webhook', wanted: true, outcome: 'sent' },
    ],
  });
});

test('the scheduler has no run: what belongs to one is null', async () => {
  await notify('orders.json', '--event', 'scheduler_stuck');
  const unknown = {
    run_id: null,
    invocation_id: null,
    started_at: null,
    finished_at: null,
    duration_secs: null,
  };
  expect(bodies('/hook')).toMatchObject([
    { event: 'scheduler_stuck', severity: 'critical', details: {}, ...unknown },
  ]);
});

test('what does not arrive fails the command, and says why without the address', async () => {
  server.respond(({ path }) =>
    path === '/chat' ? { status: 404, body: `no_service at ${server.url}/chat` } : {},
  );
  const { code, out, err } = await notify('orders.json');
  expect([code, out]).toEqual([
    1,
    expect.stringContaining('failed: the receiver answered 404: no_service at ***\n'),
  ]);
  expect(out + err).not.toContain('/chat');
});

test('a document without rules, and an event that does not exist, are refused', async () => {
  expect(await notify('silent.json')).toMatchObject({
    code: 1,
    err: expect.stringContaining('the document has no `notifications`'),
  });
  expect(await notify('orders.json', '--event', 'done')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--event cannot be "done"'),
  });
});
