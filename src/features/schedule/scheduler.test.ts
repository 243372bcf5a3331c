import { describe, expect, test } from 'vitest';
import { eventClock, type EventClock } from '../../../test/fakes/event-clock.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { scheduleSchema } from '../../blocks/schedule/schema.ts';
import { parseCron } from '../../lib/time/cron.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { Job, RunSignals } from './job.ts';
import { Scheduler, type Progress, type SchedulerEnd } from './scheduler.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** What a run does: how long it takes, and how it ends. */
interface Script {
  readonly takesMs?: number;
  readonly fails?: string;
  readonly cooldownMs?: number;
  /** It does not hear when it is asked to stop. */
  readonly deaf?: boolean;
}

interface Stage {
  readonly clock: EventClock;
  /**
   * `12:01:00 → 12:01:30 completed`: when a run started and ended; the tick where that was another
   * moment.
   */
  readonly runs: string[];
  readonly measured: Map<string, number>;
  readonly log: () => readonly string[];
  readonly scheduler: Scheduler;
  readonly stop: () => void;
  readonly end: () => SchedulerEnd | undefined;
  readonly job: (block: object) => Job;
}

function stage(
  block: object,
  scripts: readonly Script[] = [],
  start = '2026-01-31T12:00:00Z',
  progress?: Progress,
): Stage {
  const clock = eventClock(start);
  const measured = new Map<string, number>();
  const env = testEnv({ clock, metrics: into(measured) });
  const runs: string[] = [];
  const stopping = new AbortController();
  let count = 0;
  const time = (): string => clock.now().toISOString().slice(11, 19);
  const run = async (tick: Date, { stop, kill }: RunSignals): Promise<RunOutcome> => {
    const { takesMs = 0, fails, deaf } = scripts[count++] ?? {};
    const at = tick.toISOString().slice(11, 19);
    const began = time() === at ? at : `${time()} for ${at}`;
    await clock.sleep(takesMs, deaf === true ? kill : AbortSignal.any([stop, kill]));
    const status =
      stop.aborted || kill.aborted ? 'cancelled' : fails === undefined ? 'completed' : 'failed';
    runs.push(`${began} → ${time()} ${kill.aborted ? 'killed' : status}`);
    return outcome(status, fails);
  };
  const job = (spec: object): Job => {
    const parsed = scheduleSchema.parse({ cron: '* * * * *', ...spec });
    const cron = parseCron(parsed.cron, parsed.timezone);
    if ('fault' in cron) throw new Error(cron.fault);
    const giveUp = (reason: string): Promise<void> =>
      Promise.resolve(void runs.push(`gives up: ${reason}`));
    return {
      pipeline: 'orders',
      spec: parsed,
      cron,
      run,
      cooldownMs: () => scripts[count - 1]?.cooldownMs ?? 0,
      giveUp,
    };
  };
  const scheduler = new Scheduler({
    env,
    job: job(block),
    signal: stopping.signal,
    ...(progress === undefined ? {} : { progress }),
  });
  let end: SchedulerEnd | undefined;
  void scheduler.run().then((reached) => (end = reached));
  const log = (): readonly string[] => env.lines.map(({ line }) => line);
  return {
    clock,
    runs,
    measured,
    log,
    scheduler,
    stop: () => stopping.abort(),
    end: () => end,
    job,
  };
}

function into(measured: Map<string, number>): Metrics {
  const name = (metric: { name: string }, labels: object): string => {
    const { pipeline, ...rest } = labels as Record<string, string>;
    expect(pipeline).toBe('orders');
    return [metric.name.replace('svc_schedule_', ''), ...Object.values(rest)].join(' ');
  };
  return {
    inc: (metric, labels, value = 1) =>
      void measured.set(name(metric, labels), (measured.get(name(metric, labels)) ?? 0) + value),
    set: (metric, labels, value) => void measured.set(name(metric, labels), value),
    observe: (metric, labels, value) => void measured.set(name(metric, labels), value),
  };
}

function outcome(status: RunOutcome['status'], message: string | undefined): RunOutcome {
  const error = message === undefined ? null : { code: 'test', kind: 'Custom' as const, message };
  return {
    pipeline: 'orders',
    status,
    started_at: '',
    finished_at: '',
    records_written: 3,
    invocations: [],
    error,
  };
}

describe('a scheduler', () => {
  test('runs at every tick, and says when the next one comes', async () => {
    const { clock, runs, measured, log, stop, end } = stage({ timezone: 'Europe/Berlin' }, [
      { takesMs: 5 * SECOND },
    ]);
    await clock.pass(2 * MINUTE + SECOND);
    expect(runs).toEqual(['12:01:00 → 12:01:05 completed', '12:02:00 → 12:02:00 completed']);
    expect(log().at(-1)).toContain(
      'run completed tick=2026-01-31T13:02:00+01:00 records_written=3 duration_ms=0 next=2026-01-31T13:03:00+01:00',
    );
    expect(Object.fromEntries(measured)).toMatchObject({
      'runs_total ok': 2,
      runs_in_flight: 0,
      consecutive_failures: 0,
      next_tick_unix_seconds: Date.parse('2026-01-31T12:03:00Z') / 1000,
      last_run_started_unix_seconds: Date.parse('2026-01-31T12:02:00Z') / 1000,
      last_run_completed_unix_seconds: Date.parse('2026-01-31T12:02:00Z') / 1000,
      last_run_duration_seconds: 0,
      run_lateness_seconds: 0,
    });
    stop();
    await clock.pass(0);
    expect(end()).toEqual({ ok: true, reason: 'stopped' });
  });

  test('looks at the clock every half minute, however far off the next tick is', async () => {
    const { clock, measured } = stage({ cron: '0 3 * * *' });
    await clock.pass(95 * SECOND);
    expect(measured.get('heartbeat_unix_seconds')).toBe(Date.parse('2026-01-31T12:01:30Z') / 1000);
  });

  test('runs at once when it is told to, with the moment as its tick', async () => {
    const { clock, runs } = stage({ start_immediately: true }, [], '2026-01-31T12:00:20Z');
    await clock.pass(MINUTE);
    expect(runs).toEqual(['12:00:20 → 12:00:20 completed', '12:01:00 → 12:01:00 completed']);
  });

  test('makes up for one tick that it has just missed, and for none of several', async () => {
    const { clock, runs, measured } = stage({});
    await clock.leap(100 * SECOND);
    expect(runs).toEqual(['12:01:40 for 12:01:00 → 12:01:40 completed']);
    expect(measured.get('run_lateness_seconds')).toBe(40);
    await clock.leap(5 * MINUTE);
    expect(runs).toHaveLength(1);
    await clock.pass(MINUTE);
    expect(runs.slice(1)).toEqual(['12:07:00 → 12:07:00 completed']);
  });

  test('ends after so many runs that succeeded; those that failed do not count', async () => {
    const { clock, runs, end } = stage({ max_runs: 2 }, [{}, { fails: 'no' }, {}]);
    await clock.pass(10 * MINUTE);
    expect(runs.map((run) => run.split(' ').at(-1))).toEqual(['completed', 'failed', 'completed']);
    expect(end()).toMatchObject({
      ok: true,
      reason: expect.stringContaining('max_runs') as unknown,
    });
  });
});

describe('a tick that comes while a run is under way', () => {
  const long = [{ takesMs: 150 * SECOND }];

  test('is dropped', async () => {
    const { clock, runs, measured } = stage({ overlap_policy: 'skip' }, long);
    await clock.pass(4.5 * MINUTE);
    expect(runs).toEqual(['12:01:00 → 12:03:30 completed', '12:04:00 → 12:04:00 completed']);
    expect(Object.fromEntries(measured)).toMatchObject({
      'overlaps_total skip': 2,
      'runs_total skipped': 2,
      'runs_total ok': 2,
    });
  });

  test('waits with its own clock; one of them only', async () => {
    const { clock, runs, measured } = stage({ overlap_policy: 'queue' }, long);
    await clock.pass(4.5 * MINUTE);
    expect(runs).toEqual([
      '12:01:00 → 12:03:30 completed',
      '12:03:30 for 12:02:00 → 12:03:30 completed',
      '12:04:00 → 12:04:00 completed',
    ]);
    expect(Object.fromEntries(measured)).toMatchObject({
      'overlaps_total queue': 2,
      'runs_total skipped': 1,
    });
  });

  test('ends the scheduler with an error where that is forbidden, once the run is over', async () => {
    const { clock, runs, end } = stage(
      { overlap_policy: 'forbid', shutdown_grace_secs: 120 },
      long,
    );
    await clock.pass(3 * MINUTE);
    expect(end()).toBeUndefined();
    await clock.pass(MINUTE);
    expect(runs).toEqual(['12:01:00 → 12:03:30 completed']);
    expect(end()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('forbid') as unknown,
    });
  });
});

describe('a run that fails', () => {
  const failing = Array.from({ length: 9 }, () => ({ fails: 'the source is gone' }));

  test('is reported, and the next one comes', async () => {
    const { clock, runs, log, measured } = stage({}, failing.slice(0, 1));
    await clock.pass(2.5 * MINUTE);
    expect(runs.map((run) => run.split(' ').at(-1))).toEqual(['failed', 'completed']);
    expect(
      log().some(
        (line) =>
          line.includes('run failed') &&
          line.includes('failures=1 error="the source is gone" next='),
      ),
    ).toBe(true);
    expect(Object.fromEntries(measured)).toMatchObject({
      'runs_total err': 1,
      'runs_total ok': 1,
      consecutive_failures: 0,
    });
  });

  test('ends the scheduler where it is to stop', async () => {
    const { clock, runs, end } = stage({ on_failure: 'stop' }, failing);
    await clock.pass(3 * MINUTE);
    expect([runs.length, end()?.ok]).toEqual([1, false]);
  });

  test('ends it after so many in a row; a success counts from the beginning', async () => {
    const { clock, runs, end } = stage({ max_consecutive_failures: 2 }, [
      { fails: 'no' },
      {},
      { fails: 'no' },
      { fails: 'no' },
    ]);
    await clock.pass(9 * MINUTE);
    const reason = '2 runs failed in a row (`max_consecutive_failures`)';
    expect([runs.slice(4), end()]).toEqual([
      [`gives up: ${reason}`],
      { ok: false, reason, isStuck: true },
    ]);
  });

  test('because its destination gives up is followed by the first tick after the cooldown', async () => {
    const { clock, runs } = stage({}, [{ fails: 'the circuit is open', cooldownMs: 150 * SECOND }]);
    await clock.pass(6 * MINUTE);
    expect(runs.map((run) => run.slice(0, 8))).toEqual([
      '12:01:00',
      '12:04:00',
      '12:05:00',
      '12:06:00',
    ]);
  });

  test('is followed by none before the cooldown is over, though the scheduler is another one', async () => {
    const before = stage({}, [{ fails: 'the circuit is open', cooldownMs: 150 * SECOND }]);
    await before.clock.pass(70 * SECOND);
    const { progress } = before.scheduler;
    const { clock, runs } = stage({}, [], '2026-01-31T12:01:10Z', progress);
    await clock.pass(4 * MINUTE);
    expect(runs.map((run) => run.slice(0, 8))).toEqual(['12:04:00', '12:05:00']);
  });

  test('does not hold back a tick that waits already', async () => {
    const first = { takesMs: 90 * SECOND, fails: 'the circuit is open', cooldownMs: 10 * MINUTE };
    const { clock, runs } = stage({ overlap_policy: 'queue' }, [first]);
    await clock.pass(4 * MINUTE);
    expect(runs).toEqual([
      '12:01:00 → 12:02:30 failed',
      '12:02:30 for 12:02:00 → 12:02:30 completed',
    ]);
  });

  test('may be one that took too long: it is stopped, and ended when it does not hear', async () => {
    const { clock, runs, log } = stage({ run_timeout_secs: 10 }, [
      { takesMs: MINUTE },
      { takesMs: MINUTE, deaf: true },
    ]);
    await clock.pass(2.5 * MINUTE);
    expect(runs).toEqual(['12:01:00 → 12:01:10 cancelled', '12:02:00 → 12:02:15 killed']);
    expect(
      log().filter(
        (line) => line.includes('run failed') && line.includes('the run took longer than 10 s'),
      ),
    ).toHaveLength(2);
  });
});

describe('the end of the scheduler', () => {
  test('waits for the run under way, and starts no other', async () => {
    const { clock, runs, stop, end } = stage({ overlap_policy: 'queue' }, [
      { takesMs: 75 * SECOND },
    ]);
    await clock.pass(2 * MINUTE + SECOND);
    stop();
    await clock.pass(MINUTE);
    expect(runs).toEqual(['12:01:00 → 12:02:15 completed']);
    expect(end()).toEqual({ ok: true, reason: 'stopped' });
  });

  test('stops it when the grace is over', async () => {
    const { clock, runs, stop, end } = stage({ shutdown_grace_secs: 10 }, [
      { takesMs: 10 * MINUTE },
    ]);
    await clock.pass(MINUTE + SECOND);
    stop();
    await clock.pass(9 * SECOND);
    expect(end()).toBeUndefined();
    await clock.pass(SECOND);
    expect(runs).toEqual(['12:01:00 → 12:01:11 cancelled']);
    expect(end()).toEqual({ ok: true, reason: 'stopped' });
  });
});

describe('a reload', () => {
  test('is what the next run is made of, by its own expression', async () => {
    const { clock, runs, scheduler, job, measured } = stage({ cron: '0 3 * * *' });
    await clock.pass(5 * SECOND);
    await scheduler.reload(() => Promise.resolve(job({ cron: '*/10 * * * * *' })));
    await clock.pass(10 * SECOND);
    expect(runs).toEqual(['12:00:10 → 12:00:10 completed']);
    expect(measured.get('reloads_total ok')).toBe(1);
  });

  test('that fails is reported and counted, and changes nothing', async () => {
    const { clock, runs, scheduler, measured, log } = stage({});
    await clock.pass(SECOND);
    await scheduler.reload(() => Promise.reject(new Error('line 3 cannot be read')));
    await clock.pass(MINUTE);
    expect(runs).toHaveLength(1);
    expect(measured.get('reloads_total error')).toBe(1);
    expect(
      log().some(
        (line) => line.includes('cannot be reloaded') && line.includes('line 3 cannot be read'),
      ),
    ).toBe(true);
  });

  test('lets the run under way finish as it began', async () => {
    const { clock, runs, scheduler, job } = stage({}, [{ takesMs: 20 * SECOND }]);
    await clock.pass(MINUTE + SECOND);
    await scheduler.reload(() => Promise.resolve(job({ cron: '30 * * * * *' })));
    await clock.pass(MINUTE);
    expect(runs).toEqual(['12:01:00 → 12:01:20 completed', '12:01:30 → 12:01:30 completed']);
  });

  test('loses no tick that comes while the document is read', async () => {
    const { clock, runs, scheduler, job } = stage({ cron: '1 12 * * *' });
    await clock.pass(MINUTE - SECOND);
    const reading = Promise.withResolvers<Job>();
    const reloaded = scheduler.reload(() => reading.promise);
    // The new document is there before the scheduler has looked at the clock again.
    clock.hold(2 * SECOND);
    reading.resolve(job({ cron: '0 3 * * *' }));
    await reloaded;
    await clock.pass(MINUTE);
    expect(runs).toEqual(['12:01:01 for 12:01:00 → 12:01:01 completed']);
  });

  test('that asks for fewer runs than there were already ends it with the next', async () => {
    const { clock, runs, scheduler, job, end } = stage({});
    await clock.pass(3 * MINUTE + SECOND);
    await scheduler.reload(() => Promise.resolve(job({ max_runs: 2 })));
    await clock.pass(3 * MINUTE);
    expect(runs).toHaveLength(4);
    expect(end()).toEqual({ ok: true, reason: '4 runs succeeded (`max_runs`)' });
  });

  test('that allows fewer failures than there were already ends it with the next', async () => {
    const { clock, scheduler, job, end } = stage(
      {},
      Array.from({ length: 9 }, () => ({ fails: 'no' })),
    );
    await clock.pass(3 * MINUTE + SECOND);
    await scheduler.reload(() => Promise.resolve(job({ max_consecutive_failures: 2 })));
    await clock.pass(3 * MINUTE);
    expect(end()).toMatchObject({
      ok: false,
      reason: '4 runs failed in a row (`max_consecutive_failures`)',
    });
  });
});
