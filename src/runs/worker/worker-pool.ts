/**
 * Jobs execute in workers, one at a time in each: a run that loops, blocks or runs out
 * of memory is a failed run, not a slow or dead control plane. Workers are kept for the next job,
 * and a spare one is started ahead.
 */
import { OPEN_ACCESS, type Access } from '../../lib/access.ts';
import type { Env } from '../../lib/env.ts';
import type { Job } from '../../wire/job.ts';
import type { HearEvent, JobExecutor, JobHandle } from './executor.ts';
import { PoolJob, PoolWorker } from './pool-worker.ts';

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
      jobsPerWorker: 1000,
      ...options,
    };
    this.#fill();
  }

  start(request: Job, hear: HearEvent): JobHandle {
    const job = new PoolJob(request, hear, (stopped) => {
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
    for (const job of this.#waiting.splice(0)) job.settle(CLOSED);
    await Promise.all([...this.#workers].map((worker) => worker.kill()));
  }

  #assign(): void {
    for (const worker of this.#workers) {
      if (!worker.idle) continue;
      const job = this.#waiting.shift();
      if (job === undefined) break;
      clearTimeout(this.#idleTimers.get(worker));
      this.#idleTimers.delete(worker);
      worker.run(job);
    }
    this.#fill();
  }

  /** As many processes as runs wait for, and the spares. */
  #fill(): void {
    if (this.#closing || this.#unfit) return;
    const free = [...this.#workers].filter((worker) => worker.idle || !worker.ready).length;
    const wanted = this.#waiting.length + this.#options.spares - free;
    const room = this.#options.maxWorkers - this.#workers.size;
    for (let started = 0; started < Math.min(wanted, room); started += 1) this.#spawn();
  }

  #spawn(): void {
    const { env, access, entry, heapMb, threads, purpose } = this.#options;
    const worker = new PoolWorker({
      env,
      access,
      entry,
      heapMb,
      threads,
      purpose,
      onReady: (ready) => this.#rest(ready),
      onDone: (done) => {
        if (done.wasStopped) void done.kill();
        else if (done.jobs >= this.#options.jobsPerWorker) done.retire();
        else this.#rest(done);
      },
      onGone: (gone, reason, tail) => this.#bury(gone, reason, tail),
    });
    this.#workers.add(worker);
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
    if (!worker.wasReady) {
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
