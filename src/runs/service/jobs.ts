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
import { Deadlines, type Deadline } from './deadlines.ts';
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
  /** Fires when nobody waits for it any more; absent: somebody does as long as it takes. */
  readonly signal?: AbortSignal | undefined;
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
  const deadlines = new Deadlines(options.env.clock);
  const log = options.env.log.at('headgate::jobs');
  return {
    run: async (definition, request, call) => {
      const { kind, word, limits } = definition;
      assert(limits !== undefined, `jobs of kind ${kind} have limits`);
      let lane = lanes.get(kind);
      if (lane === undefined) lanes.set(kind, (lane = new JobLane(word, limits)));
      const place = await lane.enter(call.signal);
      try {
        const attempt = (): Promise<unknown> =>
          new Execution({ ...options, deadlines, log }, { word, limits, place }).run(request, call);
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

interface ExecutionOptions extends JobsOptions {
  readonly deadlines: Deadlines;
  readonly log: Env['log'];
}

/** One job with a worker. */
class Execution {
  readonly #options: ExecutionOptions;
  readonly #kind: Kind;
  readonly #meter: RunMeter;
  #handle: JobHandle | undefined;
  /** When it is ended by force. */
  #limit: Deadline | undefined;
  #slow: Deadline | undefined;
  #overdueMs: number | undefined;

  constructor(options: ExecutionOptions, kind: Kind) {
    this.#options = options;
    this.#kind = kind;
    this.#meter = new RunMeter(options.applyMetrics);
  }

  async run(request: RequestOf<JobKind>, call: JobCall): Promise<unknown> {
    const { signal, hear } = call;
    const { env, log, executor, deadlines, isLevelChosen = false } = this.#options;
    const { word, limits } = this.#kind;
    const id = env.ids.next();
    log.debug(`${word} started`, { id });
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
      limits.ahead,
    );
    this.#handle = handle;
    const stop = (): void => handle.stop('cancel', limits.graceMs);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
    const end = await handle.done;
    signal?.removeEventListener('abort', stop);
    deadlines.delete(this.#limit);
    deadlines.delete(this.#slow);
    return this.#answerOf(end);
  }

  #hear(event: RunEvent, { limitMs }: JobCall): void {
    this.#meter.hear(event);
    const { limits } = this.#kind;
    const isBegun = event.kind === 'begun';
    if (isBegun || limits.countsFrom === 'last_event')
      this.#time(limitMs?.(event) ?? limits.limitMs);
    if (isBegun) this.#noticeSlow();
  }

  /** Begins to count anew. */
  #time(limitMs: number): void {
    const { deadlines } = this.#options;
    deadlines.delete(this.#limit);
    this.#limit = deadlines.add(limitMs, () => {
      this.#overdueMs = limitMs;
      this.#handle?.stop('timeout', this.#kind.limits.graceMs);
    });
  }

  #noticeSlow(): void {
    const { place, limits } = this.#kind;
    if (limits.slowAfterMs === undefined) return;
    this.#slow = this.#options.deadlines.add(limits.slowAfterMs, () => {
      this.#handle?.giveWay();
      place.slow();
    });
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
