/** Schedules over restarts of the server: what is stored decides what is run. */
import { expect, test, vi } from 'vitest';
import { aSchedule } from '../../../../test/conformance/schedules.ts';
import { eventClock, type EventClock } from '../../../../test/fakes/event-clock.ts';
import { testEnv } from '../../../../test/fakes/env.ts';
import { scheduleSchema } from '../../../blocks/schedule/schema.ts';
import { HistoryError } from '../../../history/history.ts';
import type { StoredSchedule } from '../../../history/schedules.ts';
import { MemorySchedules } from '../../../history/memory/memory-schedules.ts';
import { RefusedError } from '../../../lib/errors.ts';
import type { AuditEntry } from '../../../wire/audit.ts';
import type { RunRecord, Submission } from '../../../wire/run.ts';
import { RunEnds } from '../../../runs/service/run-ends.ts';
import type { How } from '../../../runs/service/runs.ts';
import { runRecord } from '../../../../test/support/server.ts';
import type { LoadedDocument } from './documents.ts';
import { createSchedules, type ScheduleService } from './schedules.ts';
import { eventually } from '../../../../test/support/eventually.ts';

const CALLER = { principal: 'ann', role: 'operator' } as const;
const MINUTE = 60_000;

/** What outlives a server. */
interface Lasting {
  readonly clock: EventClock;
  readonly store: MemorySchedules;
  readonly records: Map<string, RunRecord>;
  /** Every submission that made a run, by its id. */
  readonly submitted: Map<string, Submission & { readonly how?: How | undefined }>;
  readonly keys: Map<string, string>;
}

interface Stage extends Lasting {
  readonly schedules: ScheduleService;
  readonly ends: RunEnds;
  readonly audited: AuditEntry[];
  readonly stuck: string[];
  /** Thrown by submissions while it is set. */
  refusal: { now: unknown };
  end(runId: string, over?: Partial<RunRecord>): void;
  ticks(): string[];
}

function lasting(start = '2026-01-31T12:00:00Z'): Lasting {
  return {
    clock: eventClock(start),
    store: new MemorySchedules(),
    records: new Map(),
    submitted: new Map(),
    keys: new Map(),
  };
}

function stage(made: Lasting = lasting()): Stage {
  const env = testEnv({ clock: made.clock });
  const [ends, audited, stuck] = [new RunEnds(), [] as AuditEntry[], [] as string[]];
  const refusal: { now: unknown } = { now: undefined };
  const followers = new Map<string, ReturnType<RunEnds['follow']>>();
  const { records, submitted, keys, clock } = made;
  const submit = async (submission: Submission, _caller: unknown, how?: How) => {
    if (refusal.now !== undefined) throw refusal.now;
    const key = submission.idempotency_key ?? `manual ${submitted.size}`;
    const run_id = keys.get(key) ?? `run-${submitted.size + 1}`;
    if (!keys.has(key)) {
      keys.set(key, run_id);
      submitted.set(run_id, { ...submission, how });
      records.set(run_id, runRecord({ run_id, status: 'queued' }));
    }
    followers.set(run_id, ends.follow({ run_id }));
    return { run_id, status: 'queued' as const, submitted_at: clock.now().toISOString() };
  };
  const get = async (runId: string): Promise<RunRecord> => {
    const record = records.get(runId);
    if (record === undefined) throw new RefusedError('not_found', 'there is no such run');
    return record;
  };
  const schedules = createSchedules({
    env,
    store: made.store,
    templates: () => Promise.resolve([]),
    jobs: { run: () => Promise.reject(new Error('nothing is read')) },
    base: () => undefined,
    runs: { submit, get },
    ends,
    audit: { record: async (entry) => void audited.push(entry) },
    notifier: { schedulerStuck: async (_plan, message) => void stuck.push(message) },
  });
  return {
    ...made,
    schedules,
    ends,
    audited,
    stuck,
    refusal,
    end: (runId, over = {}) => {
      const finished_at = clock.now().toISOString();
      const record = runRecord({ run_id: runId, status: 'completed', finished_at, ...over });
      records.set(runId, record);
      const { status, error } = record;
      const end = { status: status as 'completed', error, finished_at, outcome: null };
      followers.get(runId)?.({ kind: 'ended', end: { ...end, started_at: null } });
    },
    ticks: () => [...submitted.values()].map(({ clock: at }) => String(at).slice(11, 19)),
  };
}

function document(block: object = {}, name = 'orders'): LoadedDocument {
  const schedule = { cron: '* * * * *', ...block };
  return {
    name,
    source: { kind: 'document', path: `/schedules/${name}.yaml` },
    tree: { version: 1, schedule },
    read: {
      pipeline: name,
      isNamed: false,
      spec: scheduleSchema.parse(schedule),
      cooldowns: {},
      notified: undefined,
    },
    problem: undefined,
  };
}

async function stored({ store }: Lasting): Promise<StoredSchedule | undefined> {
  return (await store.listSchedules())[0];
}

test('a tick submits the document without its schedule, with the clock and zone of the schedule and a key', async () => {
  const made = stage();
  const block = { timezone: 'Asia/Tokyo', run_timeout_secs: 9 };
  await made.schedules.begin([document(block)]);
  await made.clock.pass(MINUTE);
  expect([...made.submitted.values()]).toEqual([
    {
      config: '{"version":1}',
      config_format: 'json',
      name: 'orders',
      clock: '2026-01-31T12:01:00.000Z',
      timeout_secs: 9,
      labels: { schedule: 'orders', tick: '2026-01-31T12:01:00.000Z' },
      idempotency_key: 'schedule:orders:2026-01-31T12:01:00.000Z',
      how: { zone: 'Asia/Tokyo' },
    },
  ]);
  expect(made.schedules.get('orders')).toMatchObject({
    running: true,
    last_run: { run_id: 'run-1', status: 'queued' },
    next_run: '2026-01-31T12:02:00.000Z',
  });
  made.end('run-1', { status: 'failed', error: 'no file' });
  await made.clock.pass(0);
  expect(made.schedules.get('orders')).toMatchObject({
    running: false,
    consecutive_failures: 1,
    last_run: { status: 'failed', error: 'no file' },
  });
  expect(await stored(made)).toMatchObject({
    handled: '2026-01-31T12:01:00.000Z',
    starting: null,
    failures: 1,
  });
});

test('a tick whose submission the server did not live to see is submitted by the next one, however late', async () => {
  const made = stage();
  await made.schedules.begin([document()]);
  made.refusal.now = new RefusedError('queue_full', 'full');
  await made.clock.pass(MINUTE);
  expect(made.ticks()).toEqual([]);
  expect(await stored(made)).toMatchObject({ starting: '2026-01-31T12:01:00.000Z' });
  made.schedules.close();
  await made.clock.pass(10 * MINUTE);
  const next = stage(made);
  await next.schedules.begin([document()]);
  await next.clock.pass(0);
  // The ticks in between were missed, like those of a scheduler that slept.
  expect(next.ticks()).toEqual(['12:01:00']);
});

test('a tick that was submitted before the end of the server is not submitted again', async () => {
  const made = stage();
  await made.schedules.begin([document()]);
  await made.clock.pass(MINUTE);
  const seen = await stored(made);
  made.schedules.close();
  // The server died before it stored that the tick was accepted.
  await made.store.putSchedule({
    ...aSchedule('orders'),
    ...seen,
    starting: '2026-01-31T12:01:00.000Z',
    last_run: null,
  });
  const next = stage(made);
  await next.schedules.begin([document()]);
  await next.clock.pass(0);
  expect(next.ticks()).toEqual(['12:01:00']);
  expect(next.schedules.get('orders')).toMatchObject({ last_run: { run_id: 'run-1' } });
});

test('a tick that was submitted before, of a document that has changed since, has had its run', async () => {
  const made = stage();
  await made.store.putSchedule(
    aSchedule('orders', { starting: '2026-01-31T12:00:00.000Z', handled: '2026-01-31T12:00:00Z' }),
  );
  made.refusal.now = new RefusedError('conflict', 'the idempotency key was used before');
  await made.schedules.begin([document({ on_failure: 'stop' })]);
  await made.clock.pass(0);
  expect(made.schedules.get('orders')).toMatchObject({
    state: 'active',
    consecutive_failures: 0,
    running: false,
  });
  expect(await stored(made)).toMatchObject({ starting: null });
  made.refusal.now = new RefusedError('unprocessable', 'it is not valid any more');
  await made.clock.pass(MINUTE);
  expect(made.schedules.get('orders')).toMatchObject({
    state: 'ended',
    last_run: { run_id: null, status: 'failed', error: 'it is not valid any more' },
  });
});

test('one missed tick is made up for by the next server, several are not', async () => {
  for (const [downMs, expected] of [
    [MINUTE, ['12:01:00', '12:02:00']],
    [5 * MINUTE, ['12:01:00', '12:07:00']],
  ] as const) {
    const made = stage();
    await made.schedules.begin([document()]);
    await made.clock.pass(MINUTE);
    made.end('run-1');
    await made.clock.pass(0);
    made.schedules.close();
    await made.clock.pass(downMs);
    const next = stage(made);
    await next.schedules.begin([document()]);
    await next.clock.pass(downMs === MINUTE ? 0 : MINUTE);
    expect(next.ticks()).toEqual(expected);
    next.schedules.close();
  }
});

test('a run that outlives its server is waited for, and so is the tick that waits for it', async () => {
  const made = stage();
  const block = { overlap_policy: 'queue' };
  await made.schedules.begin([document(block)]);
  await made.clock.pass(2 * MINUTE);
  expect(await stored(made)).toMatchObject({ waiting: '2026-01-31T12:02:00.000Z' });
  made.schedules.close();
  const next = stage(made);
  await next.schedules.begin([document(block)]);
  await next.clock.pass(1000);
  expect(next.schedules.get('orders')).toMatchObject({ running: true });
  expect(next.ticks()).toEqual(['12:01:00']);
  // Its record ends without anybody hearing of it.
  next.records.set('run-1', runRecord({ run_id: 'run-1' }));
  await next.clock.pass(30_000);
  expect(next.ticks()).toEqual(['12:01:00', '12:02:00']);
  expect(next.schedules.get('orders')).toMatchObject({
    successes: 1,
    consecutive_failures: 0,
    waiting: null,
  });
});

test('a schedule that was paused stays so, and its ticks are not run later', async () => {
  const made = stage();
  await made.schedules.begin([document()]);
  expect(await made.schedules.pause('orders', CALLER)).toMatchObject({
    state: 'paused',
    paused: { by: 'ann', at: '2026-01-31T12:00:00.000Z' },
  });
  made.schedules.close();
  const next = stage(made);
  await next.schedules.begin([document()]);
  await next.clock.pass(2.5 * MINUTE);
  expect(next.ticks()).toEqual([]);
  expect(await next.schedules.resume('orders', CALLER)).toMatchObject({
    state: 'active',
    next_run: '2026-01-31T12:03:00.000Z',
  });
  await next.clock.pass(MINUTE);
  expect(next.ticks()).toEqual(['12:03:00']);
  expect([...made.audited, ...next.audited].map(({ action }) => action)).toEqual([
    'schedule.pause',
    'schedule.resume',
  ]);
});

test('a server that did not hear of a pause or its end finds it before the next tick, and keeps it', async () => {
  const made = stage();
  const cutOff = stage(made);
  for (const { schedules } of [made, cutOff]) await schedules.begin([document()]);
  await made.clock.pass(MINUTE);
  made.end('run-1');
  cutOff.end('run-1');
  await made.schedules.pause('orders', CALLER);
  await made.clock.pass(2 * MINUTE);
  expect(made.ticks()).toEqual(['12:01:00']);
  expect(cutOff.schedules.get('orders')).toMatchObject({ state: 'paused', successes: 1 });
  expect(await stored(made)).toMatchObject({ paused: { by: 'ann' } });
  await cutOff.schedules.resume('orders', CALLER);
  await made.clock.pass(MINUTE);
  expect(made.schedules.get('orders')).toMatchObject({ state: 'active' });
  expect(await stored(made)).toMatchObject({ paused: null });
  expect(made.ticks()).toEqual(['12:01:00', '12:04:00']);
});

test('what is paused while it is being looked at stays paused', async () => {
  const made = stage();
  await made.schedules.begin([document()]);
  await made.clock.pass(MINUTE);
  const looked = Promise.withResolvers<void>();
  vi.spyOn(made.store, 'getSchedule').mockImplementationOnce(async () => {
    const found = (await made.store.listSchedules())[0];
    await looked.promise;
    return found;
  });
  made.end('run-1');
  await made.clock.pass(MINUTE);
  await made.schedules.pause('orders', CALLER);
  looked.resolve();
  await made.clock.pass(MINUTE);
  expect(made.schedules.get('orders')).toMatchObject({ state: 'paused', successes: 1 });
  expect(made.ticks()).toEqual(['12:01:00']);
});

test('after too many failures it ends, says so, and begins again when it is resumed', async () => {
  const made = stage();
  await made.schedules.begin([document({ max_consecutive_failures: 1 })]);
  await made.clock.pass(MINUTE);
  made.end('run-1', { status: 'failed', error: 'no file' });
  await made.clock.pass(0);
  expect(made.schedules.get('orders')).toMatchObject({
    state: 'ended',
    next_run: null,
    reason: '1 run failed in a row (`max_consecutive_failures`)',
  });
  made.schedules.close();
  const next = stage(made);
  await next.schedules.begin([document({ max_consecutive_failures: 1 })]);
  await next.clock.pass(2 * MINUTE);
  expect(next.schedules.get('orders')).toMatchObject({ state: 'ended' });
  expect(next.ticks()).toEqual(['12:01:00']);
  await next.schedules.resume('orders', CALLER);
  await next.clock.pass(MINUTE);
  expect(next.ticks()).toEqual(['12:01:00', '12:04:00']);
  expect(next.schedules.get('orders')).toMatchObject({ state: 'active', consecutive_failures: 0 });
});

test.each(['the folder is read again', 'the server starts again'])(
  'one that has ended begins again with other times, and counts from there: %s',
  async (how) => {
    const made = stage();
    await made.schedules.begin([document({ max_runs: 2 })]);
    for (const run of ['run-1', 'run-2']) {
      await made.clock.pass(MINUTE);
      made.end(run);
    }
    await made.clock.pass(0);
    expect(made.schedules.get('orders')).toMatchObject({ state: 'ended', successes: 2 });
    const changed = document({ cron: '*/5 * * * *', max_runs: 2 });
    let now = made;
    if (how === 'the server starts again') {
      made.schedules.close();
      now = stage(made);
      await now.schedules.begin([changed]);
    } else made.schedules.setFolder([changed]);
    expect(now.schedules.get('orders')).toMatchObject({
      state: 'active',
      next_run: '2026-01-31T12:05:00.000Z',
      successes: 0,
      reason: null,
    });
    await now.clock.pass(3 * MINUTE);
    now.end('run-3');
    await now.clock.pass(5 * MINUTE);
    expect(now.ticks()).toEqual(['12:01:00', '12:02:00', '12:05:00', '12:10:00']);
  },
);

test('one that has ended and is paused stays paused with other times', async () => {
  const made = stage();
  await made.schedules.begin([document({ max_runs: 1 })]);
  await made.clock.pass(MINUTE);
  made.end('run-1');
  await made.clock.pass(0);
  await made.schedules.pause('orders', CALLER);
  made.schedules.setFolder([document({ cron: '*/5 * * * *', max_runs: 1 })]);
  expect(made.schedules.get('orders')).toMatchObject({ state: 'paused', next_run: null });
  await made.clock.pass(5 * MINUTE);
  expect(made.ticks()).toEqual(['12:01:00']);
});

test('a run that was asked for does not count for the next server either', async () => {
  const made = stage();
  const once = document({ cron: '0 0 1 1 *', max_runs: 1, on_failure: 'stop' });
  await made.schedules.begin([once]);
  await made.schedules.runNow('orders', CALLER);
  await made.clock.pass(0);
  made.schedules.close();
  made.end('run-1', { status: 'failed', error: 'the server is gone' });
  const next = stage(made);
  await next.schedules.begin([once]);
  await next.clock.pass(0);
  expect(next.schedules.get('orders')).toMatchObject({
    state: 'active',
    running: false,
    consecutive_failures: 0,
    last_run: { run_id: 'run-1', status: 'failed' },
  });
});

test('it runs now when nothing of it runs; such a run does not count', async () => {
  const made = stage();
  await made.schedules.begin([document({ cron: '0 0 1 1 *', max_runs: 1 })]);
  expect(await made.schedules.runNow('orders', CALLER)).toMatchObject({ run_id: 'run-1' });
  await expect(made.schedules.runNow('orders', CALLER)).rejects.toMatchObject({ code: 'conflict' });
  made.end('run-1');
  await made.clock.pass(0);
  expect(made.schedules.get('orders')).toMatchObject({ state: 'active', successes: 0 });
  expect(made.submitted.get('run-1')?.idempotency_key).toBeUndefined();
  made.refusal.now = new RefusedError('queue_full', 'the run queue is full');
  await expect(made.schedules.runNow('orders', CALLER)).rejects.toMatchObject({
    code: 'queue_full',
  });
  await expect(made.schedules.runNow('nobody', CALLER)).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(made.audited).toMatchObject([{ action: 'schedule.run', run_id: 'run-1' }]);
});

test('a document that changed goes on with its new times, one that is gone is forgotten', async () => {
  const made = stage();
  await made.schedules.begin([document(), document({}, 'other')]);
  made.schedules.setFolder([document({ cron: '*/5 * * * *' })]);
  await made.clock.pass(5 * MINUTE);
  expect(made.ticks()).toEqual(['12:05:00']);
  expect(made.schedules.list().map(({ name }) => name)).toEqual(['orders']);
  await eventually(async () => expect(await made.store.listSchedules()).toHaveLength(1));
  // What is known of ticks is good for the cron expression that they came from.
  made.end('run-1');
  await made.clock.pass(0);
  made.schedules.close();
  await made.clock.pass(MINUTE);
  const next = stage(made);
  await next.schedules.begin([document({ cron: '* * * * *' })]);
  await next.clock.pass(0);
  expect(next.ticks()).toEqual(['12:05:00']);
});

test('what cannot be stored is stored later', async () => {
  const made = stage();
  const put = vi
    .spyOn(made.store, 'putProgress')
    .mockRejectedValueOnce(new Error('the disk is full'));
  await made.schedules.begin([document()]);
  await made.clock.pass(2000);
  expect(put).toHaveBeenCalledTimes(2);
  expect(await stored(made)).toMatchObject({ name: 'orders' });
});

test('a pause that cannot be stored is refused at once, holds, and is stored when the history is back', async () => {
  const made = stage();
  const put = vi.spyOn(made.store, 'putSchedule');
  await made.schedules.begin([document()]);
  put.mockRejectedValueOnce(new HistoryError('the history database is away'));
  await expect(made.schedules.pause('orders', CALLER)).rejects.toMatchObject({
    code: 'unavailable',
    hint: expect.stringContaining('is stored as soon as') as string,
  });
  expect(made.schedules.get('orders').state).toBe('paused');
  await made.clock.pass(MINUTE);
  expect(made.ticks()).toEqual([]);
  await made.schedules.settled();
  expect((await stored(made))?.paused).toMatchObject({ by: 'ann' });
});
