/** Whom the control plane tells how runs ended (spec 6). */
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startHttpServer, type HttpServer } from '../fakes/http-server.ts';
import { silentApi } from './serve-documents.ts';
import { workshop, type Body, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

type Told = Readonly<Record<string, unknown>>;

/** A bound for what waits on a machine that has other things to do. */
const BOUND = { timeout: 60_000, interval: 25 };

const shop = workshop();
const api = await silentApi();
let receiver: HttpServer;
let program: Program;

beforeAll(async () => {
  receiver = await startHttpServer(() => ({}));
  program = await shop.start({ args: ['--max-concurrent-runs', '2'] });
});
afterEach(() => {
  receiver.requests.length = 0;
  receiver.respond(() => ({}));
});
afterAll(async () => {
  await shop.dispose();
  await receiver.close();
  api.close();
});

const hook = (more: Body = {}): Body => ({
  name: 'hook',
  channel: { type: 'webhook', config: { url: `${receiver.url}/hook` } },
  ...more,
});
const pager = (): Body => ({
  name: 'pager',
  channel: { type: 'pagerduty', config: { routing_key: 'key', endpoint: `${receiver.url}/page` } },
});

const told = (path = '/hook'): Told[] =>
  receiver.requests.filter((one) => one.path === path).map((one) => one.json() as Told);
const events = (): string[] => told().map(({ event, row }) => `${String(event)} ${String(row)}`);

/** Waits, with a bound, until so many requests have arrived; gives all of them. */
async function arrived(count: number, path?: string): Promise<Told[]> {
  await eventually(() => expect(told(path).length).toBeGreaterThanOrEqual(count), BOUND);
  return told(path);
}

describe('a server', { timeout: 150_000 }, () => {
  const document = (pipeline: Body, notifications: readonly Body[], name = 'served'): Body => ({
    version: 1,
    name,
    pipeline,
    notifications,
  });
  const moving = (input: string) => ({
    source: { type: 'csv', config: { path: shop.path(input) } },
    sink: { type: 'jsonl', config: { path: shop.path('out.jsonl') } },
  });

  async function measured(name: string): Promise<string[]> {
    return (await program.call('GET', '/metrics')).text
      .split('\n')
      .filter((line) => line.startsWith(name));
  }

  test('tells under the id that the submission was answered with', async () => {
    writeFileSync(shop.path('in.csv'), 'id\n1\n');
    const id = await program.submit(document(moving('in.csv'), [hook()]));
    expect(await arrived(1)).toMatchObject([
      { event: 'run_success', run_id: id, pipeline: 'served', row: '' },
    ]);
    expect((await program.endedAtLast(id)).invocations[0]?.run_id).toBe(
      told()[0]?.['invocation_id'],
    );
  });

  test('remembers across its workers what was sent: two runs that fail at the same time are reported once', async () => {
    const waiting = api.document(shop.path('never.jsonl')) as { pipeline: Body };
    const contract = {
      version: '1',
      on_breach: 'fail',
      fields: [{ name: 'name', type: 'string' }],
    };
    const breaking = document(
      { ...waiting.pipeline, contract },
      [hook({ dedupe_window_secs: 3600 })],
      'twice',
    );
    const ids = [await program.submit(breaking), await program.submit(breaking)];
    await api.asked();
    await eventually(async () => {
      for (const id of ids) expect((await program.get(id)).status).toBe('running');
    }, BOUND);
    await eventually(async () => {
      api.answer();
      for (const id of ids) expect((await program.get(id)).status).toBe('failed');
    }, BOUND);
    await eventually(
      async () => expect(await measured('svc_notifications_dropped_total{')).toHaveLength(1),
      BOUND,
    );
    expect(await measured('svc_notifications_dropped_total{')).toEqual([
      expect.stringMatching(/channel="webhook",reason="coalesced"\} 1$/),
    ]);
    expect(events()).toEqual(['contract_abort ']);
    expect(program.workers().length).toBeGreaterThanOrEqual(2);
  });

  test('resolves the incident of one run after the success of another', async () => {
    rmSync(shop.path('later.csv'), { force: true });
    const later = document(moving('later.csv'), [pager()], 'mended');
    await program.endedAtLast(await program.submit(later));
    await arrived(1, '/page');
    writeFileSync(shop.path('later.csv'), 'id\n1\n');
    expect((await program.endedAtLast(await program.submit(later))).status).toBe('completed');
    expect(await arrived(2, '/page')).toEqual([
      expect.objectContaining({ event_action: 'trigger', dedup_key: 'mended:' }),
      { routing_key: 'key', event_action: 'resolve', dedup_key: 'mended:' },
    ]);
  });

  test('tells of runs that took too long and of those whose worker died, and not of cancelled ones', async () => {
    const { pipeline } = api.document(shop.path('never.jsonl')) as { pipeline: Body };
    const slow = document(pipeline, [hook()], 'slow');
    const late = await program.submit(slow, { timeout_secs: 1 });
    expect(await arrived(1)).toMatchObject([
      {
        event: 'run_failure',
        run_id: late,
        message: expect.stringContaining('timeout_secs'),
        details: { error_kind: 'error' },
      },
    ]);
    api.answer();
    const cancelled = await program.submit(slow);
    await api.asked();
    await program.call('POST', `/v1/runs/${cancelled}/cancel`);
    expect((await program.endedAtLast(cancelled)).status).toBe('cancelled');
    api.answer();
    const killed = await program.submit(slow);
    await api.asked();
    for (const worker of program.workers()) process.kill(worker, 'SIGKILL');
    expect((await arrived(2)).slice(1)).toMatchObject([
      {
        event: 'run_failure',
        run_id: killed,
        invocation_id: null,
        message: expect.stringContaining('ended abnormally'),
      },
    ]);
  });

  test('tells nobody the address of a chat, though the chat repeats it', async () => {
    const address = `${receiver.url}/services/T0/CNRYchat`;
    receiver.respond(({ path, body }) => ({ status: 403, body: `${receiver.url}${path} ${body}` }));
    const chat = { name: 'chat', channel: { type: 'slack', config: { webhook_url: address } } };
    const id = await program.submit(document(moving('in.csv'), [chat], 'quiet'));
    await eventually(() => expect(program.output()).toContain('rule=chat'), BOUND);
    const { text: record } = await program.call('GET', `/v1/runs/${id}`);
    const { text: log } = await program.call('GET', `/v1/runs/${id}/logs`);
    const { text: metrics } = await program.call('GET', '/metrics');
    expect(program.output() + record + log + metrics).not.toContain('CNRYchat');
    expect(program.output()).toContain('the receiver answered 403: ***');
  });

  test('refuses rules that cannot work, without telling what they hold', async () => {
    const bad = [
      { name: 'chat', channel: { type: 'slack', config: { webhook_url: 'CNRYnoaddress' } } },
    ];
    const answer = await program.call('POST', '/v1/runs', {
      config: JSON.stringify(document(moving('in.csv'), bad)),
    });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('notifications[0].channel.config.webhook_url');
    expect(answer.text).not.toContain('CNRYnoaddress');
  });
});
