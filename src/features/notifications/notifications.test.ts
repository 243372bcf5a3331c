/** Rules, sent the ends of runs over real connections. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { countedMetrics } from '../../../test/fakes/engine.ts';
import { testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { StopReason } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { EndedRun } from './ended-run.ts';
import type { InvocationOutcome } from '../../wire/outcome.ts';
import { createNotifier, type Notifier } from './index.ts';
import {
  endedRun,
  invocation,
  notifiedWith,
  notifyOf,
  planWith,
  rulesOf,
} from '../../../test/support/notifications.ts';
import { notifiedPlanOf } from '../../runs/planning/plan-summary.ts';

let server: HttpServer;
let env: TestEnv;
let clock: ReturnType<typeof stillClock>;
let metrics: ReturnType<typeof countedMetrics>;
let notifier: Notifier;

beforeEach(async () => {
  server = await startHttpServer(() => ({}));
  clock = stillClock();
  metrics = countedMetrics();
  env = testEnv({ clock, metrics });
  notifier = createNotifier(env);
});
afterEach(() => server.close());

const hook = (
  rule: Record<string, JsonValue> = {},
  config: Record<string, JsonValue> = {},
): Record<string, JsonValue> => ({
  ...rule,
  channel: { type: 'webhook', config: { url: `${server.url}/hook`, ...config } },
});
const pager = (rule: Record<string, JsonValue> = {}): Record<string, JsonValue> => ({
  ...rule,
  channel: {
    type: 'pagerduty',
    config: { routing_key: 'the-routing-key', endpoint: `${server.url}/page` },
  },
});

const broken = (row: string, over: Partial<InvocationOutcome> = {}) =>
  invocation(row, { error: { code: 'broken', kind: 'Sink', message: 'it broke' }, ...over });

/** Ends a run, and waits until its notifications were sent. */
async function notify(
  rules: readonly Record<string, JsonValue>[],
  invocations: readonly InvocationOutcome[],
  run: Partial<EndedRun> = {},
) {
  notifyOf(notifier, endedRun(invocations, { rules: rulesOf(...rules), run }));
  await notifier.settle(new AbortController().signal);
}

/** What arrived since the last look, as `path event row`. */
function arrived(): string[] {
  return server.requests.splice(0).map((request) => {
    const body = request.json() as Record<string, string>;
    const what =
      body['event_action'] === undefined
        ? `${body['event']} ${body['row']}`
        : `${body['event_action']} ${body['dedup_key']}`;
    return `${request.path} ${what}`;
  });
}

describe('a rule', () => {
  it('sends the events it asks for, by kind and severity', async () => {
    await notify([hook()], [invocation('eu')]);
    expect(arrived()).toEqual(['/hook run_success eu']);
    const events = [broken('eu'), invocation('us', { dead: 2 })];
    await notify([hook({ on: ['dlq_threshold', 'run_success'] })], events);
    expect(arrived()).toEqual(['/hook run_success us', '/hook dlq_threshold us']);
    await notify([hook({ min_severity: 'error' })], events);
    expect(arrived()).toEqual(['/hook run_failure eu']);
    await notify([hook({ on: ['run_success'], min_severity: 'warning' })], events);
    expect(arrived()).toEqual([]);
    expect(metrics.of('svc_notifications_dropped_total')).toEqual({});
  });

  it('waits for as many dead letters as its rule says, and for one at least', async () => {
    const rules = [
      hook({ on: ['dlq_threshold'], dlq_threshold: 5 }),
      hook({ on: ['dlq_threshold'], dlq_threshold: 0 }, { url: `${server.url}/any` }),
    ];
    await notify(rules, [invocation('eu', { dead: 4 })]);
    expect(arrived()).toEqual(['/any dlq_threshold eu']);
    await notify(rules, [invocation('eu', { dead: 5 })]);
    expect(arrived()).toEqual(['/hook dlq_threshold eu', '/any dlq_threshold eu']);
    await notify(rules, [invocation('eu', { dead: 0 })]);
    expect(arrived()).toEqual([]);
  });

  it('is counted and timed under the name of its channel', async () => {
    await notify([hook(), pager()], [broken('eu')]);
    await notify([pager()], [invocation('eu')]);
    expect(metrics.of('svc_notifications_sent_total')).toEqual({
      '{webhook,run_failure,ok}': 1,
      '{pagerduty,run_failure,ok}': 1,
      '{pagerduty,resolve,ok}': 1,
    });
  });
});

describe('rules', () => {
  it('are sent in order, event by event, however long each takes', async () => {
    server.respond(async ({ path }) => {
      if (path === '/hook') await new Promise((resolve) => setImmediate(resolve));
      return {};
    });
    await notify(
      [hook(), hook({}, { url: `${server.url}/other` })],
      [invocation('eu'), broken('us')],
    );
    expect(arrived()).toEqual([
      '/hook run_success eu',
      '/other run_success eu',
      '/hook run_failure us',
      '/other run_failure us',
    ]);
  });

  it('whose receiver is dead do not keep others from theirs', async () => {
    const silent = await startHttpServer(() => ({ hangs: true }));
    const deadline = new AbortController();
    const impatient: typeof fetch = (url, init) =>
      fetch(
        url,
        url instanceof URL && url.origin === silent.url
          ? { ...init, signal: deadline.signal }
          : init,
      );
    notifier = createNotifier(testEnv({ clock, metrics, fetch: impatient }));
    const arrivedAtLast = new Promise<void>((resolve) => server.respond(() => (resolve(), {})));
    const sending = notify([hook({}, { url: silent.url }), hook()], [invocation('eu')]);
    await arrivedAtLast;
    deadline.abort();
    await sending;
    await silent.close();
    expect(metrics.of('svc_notifications_sent_total')).toEqual({
      '{webhook,run_success,error}': 1,
      '{webhook,run_success,ok}': 1,
    });
  });
});

describe('a window', () => {
  const window = () => hook({ dedupe_window_secs: 60 });

  it('lets the first of equal events through, and no other until it is over', async () => {
    await notify([window()], [broken('eu')]);
    clock.advance(59_000);
    await notify([window()], [broken('eu')]);
    expect(arrived()).toEqual(['/hook run_failure eu']);
    expect(metrics.of('svc_notifications_dropped_total')).toEqual({ '{webhook,coalesced}': 1 });
    clock.advance(1000);
    await notify([window()], [broken('eu')]);
    expect(arrived()).toEqual(['/hook run_failure eu']);
  });

  it('is one for each kind of event, row, pipeline and rule', async () => {
    await notify([window()], [broken('eu')]);
    await notify([window()], [broken('us'), invocation('eu')]);
    await notify([window()], [broken('eu')], {
      plan: { ...notifiedWith({ rules: rulesOf(window()) }), name: 'other' },
    });
    await notify([hook({ name: 'other', dedupe_window_secs: 60 })], [broken('eu')]);
    await notify(
      [hook({ dedupe_window_secs: 60 }, { url: `${server.url}/other` })],
      [broken('eu')],
    );
    expect(arrived()).toEqual([
      '/hook run_failure eu',
      '/hook run_failure us',
      '/hook run_success eu',
      '/hook run_failure eu',
      '/hook run_failure eu',
      '/other run_failure eu',
    ]);
  });

  it('is free again when nothing arrived', async () => {
    server.respond(() => ({ status: 500 }));
    await notify([window()], [broken('eu')]);
    expect(arrived()).toHaveLength(2);
    server.respond(() => ({}));
    await notify([window()], [broken('eu')]);
    expect(arrived()).toEqual(['/hook run_failure eu']);
  });

  it('holds for runs that end at the same time', async () => {
    for (let run = 0; run < 3; run += 1)
      notifyOf(notifier, endedRun([broken('eu')], { rules: rulesOf(window()) }));
    await notifier.settle(new AbortController().signal);
    expect(arrived()).toEqual(['/hook run_failure eu']);
    expect(metrics.of('svc_notifications_dropped_total')).toEqual({ '{webhook,coalesced}': 2 });
  });
});

describe('an incident', () => {
  it('is opened by a failure and resolved by the next success of the same row', async () => {
    await notify([pager()], [broken('eu'), broken('us')]);
    await notify([pager()], [invocation('eu'), broken('us')]);
    await notify([pager()], [invocation('eu')]);
    expect(arrived()).toEqual([
      '/page trigger orders:eu',
      '/page trigger orders:us',
      '/page resolve orders:eu',
      '/page trigger orders:us',
    ]);
    expect(metrics.of('svc_notifications_sent_total')).toEqual({
      '{pagerduty,run_failure,ok}': 3,
      '{pagerduty,resolve,ok}': 1,
    });
  });

  it('is resolved by the next success also in another process, whatever the rule is called then', async () => {
    const home = await mkdtemp(join(tmpdir(), 'headgate-incidents-'));
    const another = (): void => {
      notifier = createNotifier({ ...env, variables: { XDG_STATE_HOME: home } });
    };
    another();
    await notify([pager({ name: 'night' })], [broken('eu')]);
    another();
    await notify([pager({ name: 'day' })], [invocation('us')]);
    expect(arrived()).toEqual(['/page trigger orders:eu']);
    await notify([pager({ name: 'day' })], [invocation('eu')]);
    another();
    await notify([pager({ name: 'day' })], [invocation('eu')]);
    expect(arrived()).toEqual(['/page resolve orders:eu']);
    await rm(home, { recursive: true });
  });

  it('is not resolved by a success alone, and not when it never arrived', async () => {
    await notify([pager()], [invocation('eu')]);
    expect(arrived()).toEqual([]);
    server.respond(() => ({ status: 400 }));
    await notify([pager()], [broken('eu')]);
    server.requests.length = 0;
    server.respond(() => ({}));
    await notify([pager()], [invocation('eu')]);
    expect(arrived()).toEqual([]);
  });

  it('is resolved whatever the rule asks for, and before anything else is said about the run', async () => {
    const rule = pager({
      on: ['run_failure', 'sla_breach', 'dlq_threshold'],
      min_severity: 'warning',
    });
    await notify([rule], [broken('eu')]);
    await notify([rule], [invocation('eu', { dead: 1 })]);
    expect(arrived()).toEqual([
      '/page trigger orders:eu',
      '/page resolve orders:eu',
      '/page trigger orders:eu',
    ]);
    await notify([rule], [invocation('eu')]);
    expect(arrived(), 'dead letters open nothing that a success would end').toEqual([]);
  });

  it('of a run that failed as a whole is resolved by one that completed', async () => {
    await notify([pager()], [invocation('eu', { status: 'cancelled' })], {
      status: 'failed',
      error: 'too late',
    });
    await notify([pager()], [invocation('eu')]);
    expect(arrived()).toEqual(['/page trigger orders:', '/page resolve orders:']);
  });

  it('stays open when the resolve does not arrive, until the next success', async () => {
    await notify([pager()], [broken('eu')]);
    server.respond(() => ({ status: 500 }));
    await notify([pager()], [invocation('eu')]);
    server.requests.length = 0;
    server.respond(() => ({}));
    await notify([pager()], [invocation('eu')]);
    expect(arrived()).toEqual(['/page resolve orders:eu']);
  });

  it('is opened before it is resolved, also when opening takes longer than the next run', async () => {
    const first = Promise.withResolvers<void>();
    server.respond(async () => {
      await first.promise;
      return {};
    });
    notifyOf(notifier, endedRun([broken('eu')], { rules: rulesOf(pager()) }));
    notifyOf(notifier, endedRun([invocation('eu')], { rules: rulesOf(pager()) }));
    first.resolve();
    await notifier.settle(new AbortController().signal);
    expect(arrived()).toEqual(['/page trigger orders:eu', '/page resolve orders:eu']);
  });
});

describe('a delivery', () => {
  it('is tried twice, a moment apart, and then complained about', async () => {
    server.respond([{ status: 503, body: 'come\n  back later' }]);
    await notify([hook({ name: 'team' })], [invocation('eu')]);
    expect([server.requests.length, clock.waits]).toEqual([2, [250]]);
    expect(metrics.of('svc_notifications_sent_total')).toEqual({
      '{webhook,run_success,error}': 1,
    });
    expect(metrics.of('svc_notifications_dropped_total')).toEqual({ '{webhook,channel_error}': 1 });
    expect(env.lines.map(({ level, line }) => `${level} ${line}`)).toEqual([
      'WARN WARN headgate::notifications: a notification could not be delivered rule=team channel=webhook event=run_success pipeline=orders row=eu reason="the receiver answered 503: come back later"',
    ]);
  });

  it('that arrives the second time has arrived', async () => {
    server.respond([{ status: 429 }, { status: 204 }]);
    await notify([hook()], [invocation('eu')]);
    expect([server.requests.length, metrics.of('svc_notifications_sent_total')]).toEqual([
      2,
      { '{webhook,run_success,ok}': 1 },
    ]);
    expect(env.lines).toEqual([]);
  });

  it('shows at most 200 characters of what the receiver said', async () => {
    server.respond([{ status: 500, body: 'x'.repeat(100_000) }]);
    await notify([hook()], [invocation('eu')]);
    expect(env.lines[0]?.line).toContain(`answered 500: ${'x'.repeat(199)}…"`);
  });

  it('does not follow redirects, after which its body would be gone', async () => {
    server.respond([{ status: 302, headers: { location: '/elsewhere' } }]);
    await notify([hook()], [invocation('eu')]);
    expect(server.requests.map(({ path }) => path)).toEqual(['/hook', '/hook']);
    expect(env.lines[0]?.line).toContain('the receiver answered 302');
  });

  it('logs in as the address says, which itself is sent without the login', async () => {
    const url = server.url.replace('//', '//me:p%40ss@');
    await notify([hook({}, { url: `${url}/hook` })], [invocation('eu')]);
    expect(server.requests[0]?.headers['authorization']).toBe(
      `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    );
  });

  it('tells nobody where it was going: neither the address of a chat nor keys, though the receiver repeats them', async () => {
    server.respond(({ path, body }) => ({
      status: 400,
      body: `${server.url}${path} Cannot POST ${path} ${body}`,
    }));
    const chat = {
      channel: { type: 'slack', config: { webhook_url: `${server.url}/services/T0/B0/canary` } },
    };
    const signed = hook(
      {},
      {
        url: `${server.url}/canary-path`,
        hmac_secret: 'canary-key',
        headers: { 'X-Key': 'canary-header' },
      },
    );
    await notify([chat, pager(), signed], [broken('eu')]);
    expect(env.lines).toHaveLength(3);
    const said = env.lines.map(({ line }) => line).join('\n');
    expect(said).not.toMatch(/canary|the-routing-key/);
    expect(said).toContain('***');
  });

  it('says why nobody could be reached', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    await notify([hook({}, { url: `http://127.0.0.1:${port}/canary` })], [invocation('eu')]);
    expect(env.lines[0]?.line).toContain('ECONNREFUSED');
    expect(env.lines[0]?.line).not.toContain('canary');
  });
});

describe('what is sent', () => {
  it('holds no secret that this process knows', async () => {
    env.redactor.register('canary-4711');
    const error = {
      code: 'broken',
      kind: 'Sink',
      message: 'login with canary-4711 refused',
    } as const;
    await notify(
      [hook({}, { extra_fields: { token: 'canary-4711' } }), pager()],
      [invocation('eu', { error })],
    );
    const [sent, page] = server.requests.map(
      (request) => request.json() as Record<string, unknown>,
    );
    expect(sent).toMatchObject({ message: 'login with *** refused', token: 'canary-4711' });
    expect(JSON.stringify(page)).not.toContain('canary');
  });
});

describe('a run in this process', () => {
  const plan = () => planWith({ rules: rulesOf(hook()) });
  const started = (over: object = {}) => ({
    plan: plan(),
    runId: 'run-9',
    startedAt: new Date(),
    clock: new Date(),
    dryRun: false,
    limit: undefined,
    signal: new AbortController().signal,
    ...over,
  });
  const nothingRead = new Map<string, never>();

  async function run(over: object, status: 'completed' | 'cancelled' = 'completed') {
    const observer = notifier.observerOf(plan());
    const { outcome } = endedRun([invocation('eu')]);
    if (outcome === undefined) throw new Error('it has one');
    await observer?.runStarted?.(started(over));
    await observer?.runEnded?.({ ...outcome, status }, nothingRead);
  }

  it('is reported when it has ended, under its id', async () => {
    await run({});
    expect(server.requests.map((request) => request.json())).toMatchObject([
      { event: 'run_success', run_id: 'run-9' },
    ]);
  });

  it('is not reported when it was dry, limited or cancelled', async () => {
    await run({ dryRun: true });
    await run({ limit: 5 });
    await run({}, 'cancelled');
    expect(server.requests).toEqual([]);
  });

  it('is reported as a failure when it was stopped because it took too long', async () => {
    await run(
      { signal: AbortSignal.abort(new StopReason('timeout', 'the run took longer than 5 s')) },
      'cancelled',
    );
    expect(server.requests.map((request) => request.json())).toMatchObject([
      {
        event: 'run_failure',
        run_id: 'run-9',
        message: 'the run took longer than 5 s',
        details: { error_kind: 'error' },
      },
      { event: 'run_success', row: 'eu' },
    ]);
    server.requests.length = 0;
    await run(
      { signal: AbortSignal.abort(new StopReason('shutdown', 'the scheduler is ending')) },
      'cancelled',
    );
    expect(server.requests).toEqual([]);
  });

  it('has no observer without rules', () => {
    const silent = { ...plan(), blocks: {} };
    expect(notifier.observerOf(silent)).toBeUndefined();
    expect(notifiedPlanOf(silent)).toBeUndefined();
  });
});

it('a scheduler that is stuck is reported, without a run', async () => {
  await notifier.schedulerStuck(
    notifiedPlanOf(planWith({ rules: rulesOf(hook(), hook({ on: ['run_failure'] })) })),
    'five runs failed in a row',
  );
  expect(server.requests.map((request) => request.json())).toMatchObject([
    {
      event: 'scheduler_stuck',
      severity: 'critical',
      pipeline: 'orders',
      row: '',
      run_id: null,
      message: 'five runs failed in a row',
      details: {},
    },
  ]);
});

it('waiting for deliveries ends when there is no more time', async () => {
  server.respond(() => ({ hangs: true }));
  notifyOf(notifier, endedRun([invocation('eu')], { rules: rulesOf(hook()) }));
  const over = new AbortController();
  const settled = notifier.settle(over.signal);
  over.abort();
  await settled;
  await notifier.settle(over.signal);
});
