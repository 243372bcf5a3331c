/**
 * A whole run service for tests: fake clock, scripted executor, documents that are not looked at.
 */
import { testEnv, type TestEnv } from '../fakes/env.ts';
import type { History } from '../../src/history/history.ts';
import { MemoryHistory } from '../../src/history/memory/memory-history.ts';
import type { Clock } from '../../src/lib/time/clock.ts';
import { ConfigError, RefusedError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { createRegistry, type MetricRegistry } from '../../src/lib/metrics/prometheus.ts';
import type { Progress, RunOutcome } from '../../src/wire/outcome.ts';
import { submissionSchema, type RunRecord, type Submission } from '../../src/wire/run.ts';
import type { StoredSubmissionContent } from '../../src/wire/submission.ts';
import type { Job, JobEnd, RequestOf, StopCause } from '../../src/wire/job.ts';
import type { RunEvent } from '../../src/wire/run-event.ts';
import type { HearEvent, JobExecutor } from '../../src/runs/worker/executor.ts';
import { configFingerprint } from '../../src/runs/planning/fingerprint.ts';
import { RUN_METRICS } from '../../src/runs/service/metrics.ts';
import type { Prepare } from '../../src/runs/service/prepared.ts';
import type { RunEnd } from '../../src/runs/service/record.ts';
import { metricsListener } from '../../src/runs/service/run-meter.ts';
import {
  createRuns,
  type RunLimits,
  type RunService,
  type RunServiceOptions,
} from '../../src/runs/service/run-service.ts';
import type { Caller } from '../../src/runs/service/runs.ts';

export const CALLER: Caller = { principal: 'ann', role: 'operator', sourceIp: '::1' };

/** What is stored of a submission in which nothing is set but the document. */
export const storedSubmission = (config = '{}'): StoredSubmissionContent => ({
  version: 1,
  config,
  config_format: 'json',
  name: null,
  clock: '2026-08-01T12:00:00.000Z',
  concurrency: null,
  timeout_secs: null,
  reads_anew: false,
  measured_as: null,
  callback: 'none',
});

/** Time moves only when told to. */
export class FakeClock implements Clock {
  #now = Date.parse('2026-08-01T12:00:00.000Z');
  readonly #start = this.#now;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();

  now(): Date {
    return new Date(this.#now);
  }

  elapsedMs(): number {
    return this.#now - this.#start;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = {
        until: this.#now + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      if (signal?.aborted === true) return resolve();
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    });
  }

  /** Moves on, waking sleepers in their order, and lets what they start come to rest. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await rest();
      const next = [...this.#sleepers]
        .filter(({ until }) => until <= end)
        .sort((a, b) => a.until - b.until)[0];
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.until);
      next.wake();
    }
    this.#now = end;
  }

  /** Like a machine that was asleep: whoever is due wakes once, late. */
  async jump(ms: number): Promise<void> {
    await rest();
    this.#now += ms;
    for (const { until, wake } of this.#sleepers) if (until <= this.#now) wake();
    await rest();
  }
}

/** Lets everything that can go on without time or input go on. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export interface ScriptedRun {
  readonly job: Job;
  readonly request: RequestOf<'run'>;
  readonly hear: HearEvent;
  /** To its questions whether it is still the owner. */
  readonly answers: boolean[];
  readonly stops: { readonly why: StopCause; readonly graceMs: number }[];
  end(end: RunEnd | JobEnd): void;
  finish(over?: Partial<RunOutcome>): void;
}

/** Takes runs and ends them when the test says so. */
export class ScriptedExecutor implements JobExecutor {
  readonly started: ScriptedRun[] = [];
  /** Whether runs find a worker that is ready; otherwise the test tells `begun`. */
  ready = true;

  start(job: Job, hear: HearEvent): ReturnType<JobExecutor['start']> {
    let settle: (end: JobEnd) => void = () => {};
    const done = new Promise<JobEnd>((resolve) => {
      settle = resolve;
    });
    const end = (given: RunEnd | JobEnd): void => settle(jobEndOf(given));
    const run: ScriptedRun = {
      job,
      request: job.request as RequestOf<'run'>,
      hear,
      stops: [],
      answers: [],
      end,
      finish: (over) => end({ type: 'finished', outcome: outcomeOf(over) }),
    };
    this.started.push(run);
    if (this.ready) hear({ kind: 'begun' });
    const line = 'INFO headgate::engine: pipeline run starting';
    hear({ kind: 'log', lines: [{ ts: '2026-08-01T12:00:00.000Z', level: 'INFO', line }] });
    return {
      done,
      stop: (why, graceMs) => run.stops.push({ why, graceMs }),
      giveWay: () => {},
      answerOwner: (_question, isOwned) => void run.answers.push(isOwned),
    };
  }

  /** The run started last. */
  get last(): ScriptedRun {
    const run = this.started.at(-1);
    if (run === undefined) throw new Error('no run was started');
    return run;
  }

  async close(): Promise<void> {}
}

function jobEndOf(end: RunEnd | JobEnd): JobEnd {
  if ('outcome' in end) return { type: 'finished', answer: end.outcome };
  return end.type === 'crashed' ? { why: 'died', ...end } : end;
}

export function progressOf(over: Partial<Progress> = {}): RunEvent {
  const progress: Progress = {
    records_read: 0,
    records_written: 0,
    records_dead_lettered: 0,
    bytes_read: 0,
    row_id: 'row-0',
    invocations_done: 0,
    ...over,
  };
  return { kind: 'progress', progress };
}

export function outcomeOf(over: Partial<RunOutcome> = {}): RunOutcome {
  return {
    pipeline: 'orders',
    status: 'completed',
    started_at: '2026-08-01T12:00:00.000Z',
    finished_at: '2026-08-01T12:00:01.000Z',
    records_written: 5,
    invocations: [],
    error: null,
    ...over,
  };
}

/** Documents for tests: `broken` does not parse, everything else is its own tree. */
const prepare: Prepare = async ({ config, name }) => {
  if (config === 'broken')
    throw new ConfigError([{ code: 'syntax', path: '', message: 'not YAML' }], { stage: 'parse' });
  const tree = JSON.parse(config) as JsonObject;
  const named = name ?? (tree['name'] as string | undefined);
  return {
    name: named ?? 'serve',
    is_named: named !== undefined,
    fingerprint: configFingerprint(tree),
    warnings: [],
  };
};

const LIMITS: RunLimits = {
  maxConcurrent: 1,
  maxQueued: 2,
  retainTerminalSecs: 604_800,
  idempotencySecs: 86_400,
  logRetentionSecs: 604_800,
  maxLogLinesPerRun: 100_000,
  leaseTtlSecs: 30,
  stopGraceMs: 30_000,
};

export interface TestService {
  readonly runs: RunService;
  readonly clock: FakeClock;
  readonly env: TestEnv;
  readonly executor: ScriptedExecutor;
  readonly history: History;
  readonly registry: MetricRegistry;
  submit(over?: Partial<Submission>): Promise<string>;
  /** Everything of a metric, as `/metrics` shows it. */
  measured(name: string): Promise<string[]>;
  record(runId: string): Promise<RunRecord>;
}

export type TestServiceOptions = Partial<Omit<RunServiceOptions, 'limits' | 'env'>> & {
  readonly limits?: Partial<RunLimits>;
  readonly clock?: FakeClock;
  readonly fetch?: typeof fetch;
};

export function submission(over: Partial<Submission> = {}): Submission {
  return { ...submissionSchema.parse({ config: '{"version": 1}' }), ...over };
}

export async function testService(options: TestServiceOptions = {}): Promise<TestService> {
  const { clock = new FakeClock(), limits, fetch: fake, listeners = [], ...others } = options;
  const registry = createRegistry(RUN_METRICS);
  const env = testEnv({
    clock,
    metrics: registry.metrics,
    fetch: fake ?? (() => Promise.reject(new Error('no network'))),
  });
  const executor = new ScriptedExecutor();
  const history = options.history ?? new MemoryHistory();
  const runs = createRuns({
    env,
    history,
    executor,
    prepare,
    doctor: () => Promise.resolve({ invocations: [] }),
    callbacks: { allowHosts: [], clustered: false },
    ...others,
    listeners: [metricsListener(registry.apply), ...listeners],
    limits: { ...LIMITS, ...limits },
  });
  await runs.start();
  return {
    runs,
    clock,
    env,
    executor,
    history,
    registry,
    submit: async (over) => (await runs.submit(submission(over), CALLER)).run_id,
    measured: async (name) =>
      (await registry.render()).split('\n').filter((line) => line.startsWith(name)),
    record: (runId) => runs.get(runId),
  };
}

/** The refusal a promise rejects with. */
export async function refusalOf(promise: Promise<unknown>): Promise<RefusedError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof RefusedError) return error;
  throw new Error('it was not refused', { cause: error });
}
