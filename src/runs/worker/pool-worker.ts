/** One worker as the pool sees it. */
import type { Access } from '../../lib/access.ts';
import type { Env } from '../../lib/env.ts';
import type { CrashCause, Job, JobEnd, StopCause } from '../../wire/job.ts';
import type { HearEvent, JobHandle } from './executor.ts';
import type { Batch, FromWorker, ToWorker } from './protocol.ts';
import { startProcess, type ProcessEnd, type WorkerProcess } from './worker-process.ts';

/** Enough of the last output of a dying process to find its reason. */
const STDERR_TAIL = 4096;
const OUT_OF_MEMORY = /heap out of memory|invalid array length Allocation failed/i;

/** A job on its way through the pool. */
export class PoolJob implements JobHandle {
  readonly job: Job;
  readonly hear: HearEvent;
  readonly done: Promise<JobEnd>;
  #settle: (end: JobEnd) => void = () => {};
  #worker: PoolWorker | undefined;
  readonly #onStopWaiting: (job: PoolJob) => void;

  constructor(job: Job, hear: HearEvent, onStopWaiting: (job: PoolJob) => void) {
    this.job = job;
    this.hear = hear;
    this.#onStopWaiting = onStopWaiting;
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** The worker that executes it from now on. */
  assign(worker: PoolWorker): void {
    this.#worker = worker;
  }

  stop(why: StopCause, graceMs: number): void {
    if (this.#worker !== undefined) {
      this.#worker.stop(this, why, graceMs);
      return;
    }
    this.#onStopWaiting(this);
    this.settle({ type: 'crashed', reason: 'it had not started yet', why: 'stopped' });
  }

  settle(end: JobEnd): void {
    this.#settle(end);
  }
}

export interface PoolWorkerOptions {
  /** Where relative paths start, and what the process sees of the environment. */
  readonly env: Pick<Env, 'cwd' | 'variables'>;
  readonly access: Access;
  readonly entry: string;
  readonly heapMb: number;
  readonly threads: number;
  readonly purpose: 'runs' | 'jobs';
  readonly onReady: (worker: PoolWorker) => void;
  readonly onDone: (worker: PoolWorker) => void;
  /** After the process has ended; `tail` is the end of what it wrote to its standard error. */
  readonly onGone: (worker: PoolWorker, reason: string, tail: string) => void;
}

export class PoolWorker {
  readonly #options: PoolWorkerOptions;
  readonly #process: WorkerProcess;
  readonly #gone: Promise<void>;
  #job: PoolJob | undefined;
  #jobs = 0;
  #ready = false;
  #wasReady = false;
  #ended = false;
  #stderr = '';
  #broken: string | undefined;
  #killedAfterMs: number | undefined;
  #wasStopped = false;
  #graceTimer: NodeJS.Timeout | undefined;

  constructor(options: PoolWorkerOptions) {
    this.#options = options;
    const { access } = options;
    const words = [String(options.threads), options.purpose, JSON.stringify(access)];
    const gone = Promise.withResolvers<void>();
    this.#gone = gone.promise;
    const { entry, heapMb, env } = options;
    const variables = withoutCredentials(env.variables, access);
    this.#process = startProcess(
      { entry, words, heapMb, cwd: env.cwd, variables },
      {
        onMessage: (message) => this.#hear(message),
        onStderr: (text) => {
          this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
        },
        onEnd: (end) => this.#end(this.#whyGone(end), gone.resolve),
      },
    );
  }

  get ready(): boolean {
    return this.#ready;
  }

  get idle(): boolean {
    return this.#ready && this.#job === undefined;
  }

  /** Whether it got as far as taking jobs. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /**
   * Whether a job of it was asked to stop; it may have left a source behind that is blocked in a
   * call of the system.
   */
  get wasStopped(): boolean {
    return this.#wasStopped;
  }

  get jobs(): number {
    return this.#jobs;
  }

  run(job: PoolJob): void {
    this.#job = job;
    this.#jobs += 1;
    job.assign(this);
    this.#say({ type: 'job', job: job.job });
    job.hear({ kind: 'begun' });
  }

  stop(job: PoolJob, why: StopCause, graceMs: number): void {
    if (this.#job !== job) return;
    this.#wasStopped = true;
    this.#say({ type: 'stop', why });
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => {
      this.#killedAfterMs = graceMs;
      this.#process.kill();
    }, graceMs);
  }

  /** Ends an idle worker. */
  retire(): void {
    this.#ready = false;
    this.#say({ type: 'exit' });
  }

  /** Ends the process now; resolves when it is gone. */
  kill(): Promise<void> {
    this.#ready = false;
    this.#process.kill();
    return this.#gone;
  }

  #hear(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        this.#ready = true;
        this.#wasReady = true;
        this.#options.onReady(this);
        return;
      case 'batch':
        this.#pass(message.batch);
        if (message.isAwaited) this.#say({ type: 'ack' });
        return;
      case 'done':
        this.#pass(message.rest);
        this.#settle(message.end);
        this.#options.onDone(this);
        return;
      case 'broken':
        this.#broken = message.reason;
        return;
      default:
        message satisfies never;
    }
  }

  #pass(batch: Batch): void {
    for (const event of batch) this.#job?.hear(event);
  }

  #settle(end: JobEnd): void {
    clearTimeout(this.#graceTimer);
    const job = this.#job;
    this.#job = undefined;
    job?.settle(end);
  }

  #end(reason: string, resolve: () => void): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#ready = false;
    this.#settle({ type: 'crashed', reason, why: this.#crashCause() });
    resolve();
    this.#options.onGone(this, reason, this.#stderr);
  }

  #crashCause(): CrashCause {
    if (this.#killedAfterMs !== undefined) return 'stopped';
    if (OUT_OF_MEMORY.test(this.#stderr)) return 'memory';
    return this.#wasReady ? 'died' : 'not_started';
  }

  #whyGone({ error, code = null, signal = null }: ProcessEnd): string {
    if (error !== undefined) return `it could not be started: ${error.message}`;
    if (this.#killedAfterMs !== undefined)
      return `it did not stop within ${this.#killedAfterMs / 1000} s and was ended by force`;
    if (OUT_OF_MEMORY.test(this.#stderr)) {
      return `it needed more memory than the limit of ${this.#options.heapMb} MB; smaller pages (\`batch_size\`) need less`;
    }
    if (this.#broken !== undefined) return `its worker process broke down: ${this.#broken}`;
    if (signal !== null) return `its worker process was ended by ${signal}`;
    return `its worker process ended unexpectedly with exit status ${code}`;
  }

  #say(message: ToWorker): void {
    this.#process.send(message);
  }
}

/** Documents are executed there: what they must not read is not there. */
function withoutCredentials(
  variables: Env['variables'],
  { variables: { credentials } }: Access,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => !credentials.includes(name)),
  );
}
