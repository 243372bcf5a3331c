/**
 * Jobs execute in worker processes, one at a time in each: a run that loops, blocks or runs out
 * of memory is a failed run, not a slow or dead control plane. Workers are kept for the next job,
 * and a spare one is started ahead. Small jobs of a kind are given to one worker ahead, so that
 * neither side waits for the other; whatever happens to one of them, others take those behind it.
 *
 * Where as many workers as there are processors are at jobs of a few milliseconds, the next job
 * waits a moment for one of them: more processes would share the same processors, and each of them
 * would have to get warm.
 */
import { availableParallelism } from 'node:os';
import { OPEN_ACCESS, type Access } from '../../lib/access.ts';
import type { Env } from '../../lib/env.ts';
import type { Job, JobKind } from '../../wire/job.ts';
import type { HearEvent, JobExecutor, JobHandle, WorkAhead } from './executor.ts';
import { PoolJob } from './pool-job.ts';
import { PoolWorker } from './pool-worker.ts';

export interface WorkerPoolOptions {
  readonly env: Pick<Env, 'log' | 'cwd' | 'variables'>;
  /** What documents may take from its processes; by default everything. */
  readonly access?: Access;
  /** Path of the module that calls `runWorkerLoop`. */
  readonly entry: string;
  readonly maxWorkers: number;
  /** JavaScript heap of one worker. */
  readonly heapMb?: number;
  /** That each worker may use beside its own (`engine/threads/budget.ts`). */
  readonly threads?: number;
  /** What its processes are for: those for runs load the engine before they are ready. */
  readonly purpose?: 'runs' | 'jobs';
  /** Idle processes kept ready. */
  readonly spares?: number;
  /** An idle process beyond the spares ends after this. */
  readonly idleMs?: number;
  /** A process is replaced after this many jobs. */
  readonly jobsPerWorker?: number;
  /** Processes that execute quick jobs of one kind at the same time. */
  readonly quickWorkers?: number;
  /** What a worker is given ahead: jobs that take so long together. */
  readonly aheadMs?: number;
  /** A job that has waited for so long may have a worker of its own. */
  readonly longWaitMs?: number;
  /** Processors that jobs may keep busy before others wait for these. */
  readonly processors?: number;
  /** For so long a job waits for a worker that is free in a moment, though another one is idle. */
  readonly shortWaitMs?: number;
  /** Or before a process is started for it, which takes a quarter of a second of a processor. */
  readonly processWaitMs?: number;
}

export const DEFAULT_HEAP_MB = 2048;

export function createWorkerPool(options: WorkerPoolOptions): JobExecutor {
  return new WorkerPool(options);
}

const CLOSED = {
  type: 'crashed',
  reason: 'the server is shutting down',
  why: 'stopped',
} as const;

class WorkerPool implements JobExecutor {
  readonly #options: Required<WorkerPoolOptions>;
  readonly #workers = new Set<PoolWorker>();
  readonly #idleTimers = new Map<PoolWorker, NodeJS.Timeout>();
  #waiting: PoolJob[] = [];
  #closing = false;
  #waitTimer: NodeJS.Timeout | undefined;
  /**
   * The last process died before it could take a run: no more are started ahead until somebody asks
   * for one.
   */
  #unfit = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = {
      access: OPEN_ACCESS,
      heapMb: DEFAULT_HEAP_MB,
      threads: 0,
      purpose: 'runs',
      spares: 1,
      idleMs: 60_000,
      jobsPerWorker: 20_000,
      // One is left for the server.
      quickWorkers: Math.max(1, availableParallelism() - 1),
      aheadMs: 20,
      longWaitMs: 1000,
      processors: availableParallelism(),
      shortWaitMs: 50,
      processWaitMs: 250,
      ...options,
    };
    this.#fill();
  }

  start(request: Job, hear: HearEvent, ahead?: WorkAhead): JobHandle {
    const job = new PoolJob(request, { hear, ahead }, (stopped) => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== stopped);
    });
    if (this.#closing) job.settle(CLOSED);
    else {
      this.#waiting.push(job);
      this.#unfit = false;
      this.#assign();
    }
    return job;
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const timer of this.#idleTimers.values()) clearTimeout(timer);
    clearTimeout(this.#waitTimer);
    for (const job of this.#waiting.splice(0)) job.settle(CLOSED);
    await Promise.all([...this.#workers].map((worker) => worker.kill()));
  }

  /** Jobs of a kind are begun in their order. */
  #assign(): void {
    const stuck = new Set<JobKind>();
    this.#waiting = this.#waiting.filter((job) => {
      const worker = stuck.has(job.kind) ? undefined : this.#workerFor(job);
      if (worker === undefined) {
        stuck.add(job.kind);
        return true;
      }
      clearTimeout(this.#idleTimers.get(worker));
      this.#idleTimers.delete(worker);
      worker.run(job);
      return false;
    });
    this.#fill();
    if (this.#waiting.some(({ ahead }) => ahead === undefined)) this.#lookAgain();
  }

  /** For jobs that wait for a worker which takes longer than it seemed. */
  #lookAgain(): void {
    this.#waitTimer ??= setTimeout(() => {
      this.#waitTimer = undefined;
      if (!this.#closing) this.#assign();
    }, this.#options.shortWaitMs).unref();
  }

  /** One that works on jobs of its kind takes it behind them. */
  #workerFor(job: PoolJob): PoolWorker | undefined {
    let idle: PoolWorker | undefined;
    for (const worker of this.#workers) {
      if (worker.takes(job)) return worker;
      if (worker.idle && (idle === undefined || rank(worker, job) < rank(idle, job))) idle = worker;
    }
    return this.#mayBegin(job) ? idle : undefined;
  }

  /**
   * Whether one more worker may begin with jobs of this kind: when the machine has a processor for
   * it, or when the job has waited for long (behind jobs that were given ahead: and none of them is
   * quick, since perhaps what takes most of their time is an answer from elsewhere).
   */
  #mayBegin({ kind, ahead, ageMs }: PoolJob): boolean {
    const { processors, shortWaitMs } = this.#options;
    if (ahead === undefined)
      return ageMs >= shortWaitMs || this.#freeSoon(shortWaitMs) < processors;
    const busy = [...this.#workers].filter((worker) => !worker.idle && worker.kind === kind);
    if (busy.length >= ahead.workers) return false;
    const quick = busy.filter((worker) => !worker.isSlow).length;
    if (quick < this.#options.quickWorkers) return true;
    return ageMs >= this.#options.longWaitMs && !busy.some((worker) => worker.isQuick);
  }

  #freeSoon(withinMs: number): number {
    let count = 0;
    for (const worker of this.#workers) if (worker.isFreeSoon(withinMs)) count += 1;
    return count;
  }

  /** As many processes as are needed for what waits, and the spares. */
  #fill(): void {
    if (this.#closing || this.#unfit) return;
    const { processors, processWaitMs, spares } = this.#options;
    let free = 0;
    for (const worker of this.#workers) if (worker.idle || !worker.ready) free += 1;
    const freeSoon = this.#freeSoon(processWaitMs);
    let busy = freeSoon + free;
    const kinds = new Set<JobKind>();
    const needing = this.#waiting.filter((job) => {
      if (job.ahead === undefined) {
        busy += 1;
        return busy <= processors || job.ageMs >= processWaitMs;
      }
      const isFirst = !kinds.has(job.kind);
      kinds.add(job.kind);
      return isFirst && this.#mayBegin(job);
    });
    const wanted = needing.length + (freeSoon < processors ? spares : 0) - free;
    const room = this.#options.maxWorkers - this.#workers.size;
    for (let started = 0; started < Math.min(wanted, room); started += 1) this.#spawn();
  }

  #spawn(): void {
    const { env, access, entry, heapMb, threads, purpose, jobsPerWorker, aheadMs } = this.#options;
    const worker = new PoolWorker({
      env,
      access,
      entry,
      heapMb,
      threads,
      purpose,
      jobsPerWorker,
      aheadMs,
      onReady: (ready) => this.#rest(ready),
      onDone: (done) => this.#next(done),
      onGivenBack: (jobs) => {
        if (this.#closing) for (const job of jobs) job.settle(CLOSED);
        else this.#waiting.unshift(...jobs);
        this.#assign();
      },
      onGone: (gone, reason, tail) => this.#bury(gone, reason, tail),
    });
    this.#workers.add(worker);
  }

  /** A job of it has ended. */
  #next(worker: PoolWorker): void {
    if (worker.isSpent) void worker.kill();
    else if (worker.idle && worker.isUsedUp) worker.retire();
    else this.#rest(worker);
  }

  #rest(worker: PoolWorker): void {
    this.#assign();
    if (!worker.idle || this.#closing) return;
    const timer = setTimeout(() => {
      this.#idleTimers.delete(worker);
      const idle = [...this.#workers].filter((one) => one.idle).length;
      if (worker.idle && idle > this.#options.spares) worker.retire();
    }, this.#options.idleMs);
    timer.unref();
    this.#idleTimers.set(worker, timer);
  }

  #bury(worker: PoolWorker, reason: string, tail: string): void {
    const { log } = this.#options.env;
    this.#workers.delete(worker);
    clearTimeout(this.#idleTimers.get(worker));
    this.#idleTimers.delete(worker);
    if (this.#closing) return;
    const fatal = fatalLines(tail);
    if (fatal !== '')
      log.at('headgate::worker').debug('a worker process ended', { reason, stderr: fatal });
    if (!worker.wasReady && !worker.wasInterrupted) {
      log.at('headgate::worker').error('a worker process could not start', { reason });
      this.#waiting.shift()?.settle({ type: 'crashed', reason, why: 'not_started' });
      this.#unfit = this.#waiting.length === 0;
    }
    this.#assign();
  }
}

/**
 * What the runtime itself says of its end. Anything else may hold secrets, which only the worker
 * knew.
 */
function fatalLines(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => /^(FATAL ERROR|#) /.test(line));
  return lines.join(' ');
}

/** An idle worker that knows the kind is quicker; one that knows another kind is left to that. */
function rank({ kind }: PoolWorker, job: PoolJob): number {
  if (kind === job.kind) return 0;
  return kind === undefined ? 1 : 2;
}
