/**
 * Work that somebody waits for and that is no run: nothing of it is recorded, and it executes in a
 * worker, so that it can be ended whatever it does.
 */
import type { Env } from '../../lib/env.ts';
import { assert, RefusedError } from '../../lib/errors.ts';
import { JOB_VERSION, type JobEnd, type JobKind, type RequestOf } from '../../wire/job.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import type { JobDefinition, JobLimits } from '../worker/define-job.ts';
import type { HearEvent, JobExecutor, JobHandle } from '../worker/executor.ts';
import { errorOf } from '../worker/job-fault.ts';
import { JobLane, type JobPlace } from './job-lane.ts';
import { RunMeter, type ApplyMetrics } from './run-meter.ts';

export interface JobsOptions {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log'>;
  readonly executor: JobExecutor;
  readonly applyMetrics: ApplyMetrics;
  /** Whoever started the server chose how much is logged. */
  readonly isLevelChosen?: boolean;
}

export interface JobCall {
  /** Fires when nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** Takes what the job tells on its way. */
  readonly hear?: HearEvent;
  /** In place of what its kind says; counts from this event. */
  readonly limitMs?: (last: RunEvent) => number;
}

export interface Jobs {
  /**
   * Rejects with what the job was refused with (`ConfigError`, `RefusedError`, `JobError`), or with
   * a `RefusedError`: 429 when too many wait, 503 when its worker dies, `JobOverdue` when it takes
   * too long.
   */
  run<K extends JobKind, A>(
    definition: JobDefinition<K, A>,
    request: RequestOf<K>,
    call: JobCall,
  ): Promise<A>;
}

/** A job that took longer than its kind may, and was ended. */
export class JobOverdue extends RefusedError {}

/** The worker of a job was ended from outside. */
class WorkerLost extends RefusedError {}

export function createJobs(options: JobsOptions): Jobs {
  const lanes = new Map<JobKind, JobLane>();
  return {
    run: async (definition, request, call) => {
      const { kind, word, limits } = definition;
      assert(limits !== undefined, `jobs of kind ${kind} have limits`);
      let lane = lanes.get(kind);
      if (lane === undefined) lanes.set(kind, (lane = new JobLane(word, limits)));
      const place = await lane.enter(call.signal);
      try {
        const attempt = (): Promise<unknown> =>
          new Execution(options, { word, limits, place }).run(request, call);
        const answer = await attempt().catch((error: unknown) => {
          if (limits.isRepeatable === true && error instanceof WorkerLost) return attempt();
          throw error;
        });
        // What a worker gives for a request of this kind.
        return answer as Awaited<ReturnType<(typeof definition)['execute']>>;
      } finally {
        place.leave();
      }
    },
  };
}

interface Kind {
  readonly word: string;
  readonly limits: JobLimits;
  readonly place: JobPlace;
}

/** One job with a worker. */
class Execution {
  readonly #options: JobsOptions;
  readonly #kind: Kind;
  readonly #meter: RunMeter;
  #handle: JobHandle | undefined;
  /** Ends the time that runs now. */
  #timing = new AbortController();
  #overdueMs: number | undefined;

  constructor(options: JobsOptions, kind: Kind) {
    this.#options = options;
    this.#kind = kind;
    this.#meter = new RunMeter(options.applyMetrics);
  }

  async run(request: RequestOf<JobKind>, call: JobCall): Promise<unknown> {
    const { signal, hear } = call;
    const { env, executor, isLevelChosen = false } = this.#options;
    const { word, limits } = this.#kind;
    const id = env.ids.next();
    env.log.at('headgate::jobs').debug(`${word} started`, { id });
    const handle = executor.start(
      {
        version: JOB_VERSION,
        id,
        log_level: env.log.level,
        is_level_chosen: isLevelChosen,
        request,
      },
      (event) => {
        this.#hear(event, call);
        hear?.(event);
      },
    );
    this.#handle = handle;
    const stop = (): void => handle.stop('cancel', limits.graceMs);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const end = await handle.done;
    signal.removeEventListener('abort', stop);
    this.#timing.abort();
    return this.#answerOf(end);
  }

  #hear(event: RunEvent, { limitMs }: JobCall): void {
    this.#meter.hear(event);
    const { limits } = this.#kind;
    const isBegun = event.kind === 'begun';
    if (isBegun || limits.countsFrom === 'last_event')
      this.#time(limitMs?.(event) ?? limits.limitMs);
    if (isBegun) void this.#makeRoom();
  }

  /** Begins to count anew. */
  #time(limitMs: number): void {
    this.#timing.abort();
    this.#timing = new AbortController();
    void this.#expire(limitMs, this.#timing.signal);
  }

  async #expire(limitMs: number, over: AbortSignal): Promise<void> {
    await this.#options.env.clock.sleep(limitMs, over);
    if (over.aborted) return;
    this.#overdueMs = limitMs;
    this.#handle?.stop('timeout', this.#kind.limits.graceMs);
  }

  async #makeRoom(): Promise<void> {
    const { slowAfterMs } = this.#kind.limits;
    if (slowAfterMs === undefined) return;
    await this.#options.env.clock.sleep(slowAfterMs, this.#timing.signal);
    this.#kind.place.slow();
  }

  #answerOf(end: JobEnd): unknown {
    const { word, limits } = this.#kind;
    switch (end.type) {
      case 'finished':
        return end.answer;
      case 'refused':
        throw errorOf(end.fault);
      case 'crashed':
        this.#meter.settle();
        if (this.#overdueMs !== undefined)
          throw new JobOverdue(
            limits.overdue ?? 'unavailable',
            `the ${word} did not come to an end within ${this.#overdueMs / 1000} s`,
          );
        throw new (end.why === 'died' ? WorkerLost : RefusedError)(
          end.why === 'memory' ? (limits.overdue ?? 'unavailable') : 'unavailable',
          `the ${word} ended abnormally: ${end.reason}`,
        );
      default:
        return end satisfies never;
    }
  }
}
