/** One worker process as the pool sees it. */
import { fork, type ChildProcess } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import type { Env } from '../../lib/env.ts';
import type { RunEnd, RunHandle, RunListener, RunTicket } from './executor.ts';
import type { Batch, FromWorker, ToWorker } from './protocol.ts';
import type { StopCause } from '../service/record.ts';

/** Enough of what a dying process writes to tell why. */
const STDERR_TAIL = 4096;

/** A run on its way through the pool. */
export class PoolJob implements RunHandle {
  readonly ticket: RunTicket;
  readonly listener: RunListener;
  readonly done: Promise<RunEnd>;
  #settle: (end: RunEnd) => void = () => {};
  #worker: PoolWorker | undefined;
  readonly #onStopWaiting: (job: PoolJob) => void;

  constructor(ticket: RunTicket, listener: RunListener, onStopWaiting: (job: PoolJob) => void) {
    this.ticket = ticket;
    this.listener = listener;
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
    this.settle({ type: 'crashed', reason: 'it had not started yet' });
  }

  settle(end: RunEnd): void {
    this.#settle(end);
  }
}

export interface PoolWorkerOptions {
  /** Where relative paths start, and what the process sees of the environment. */
  readonly env: Pick<Env, 'cwd' | 'variables'>;
  readonly entry: string;
  readonly heapMb: number;
  readonly threads: number;
  readonly onReady: (worker: PoolWorker) => void;
  readonly onDone: (worker: PoolWorker) => void;
  /** After the process has ended; `tail` is the end of what it wrote to its standard error. */
  readonly onGone: (worker: PoolWorker, reason: string, tail: string) => void;
}

export class PoolWorker {
  readonly #options: PoolWorkerOptions;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  #job: PoolJob | undefined;
  #runs = 0;
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
    this.#child = fork(options.entry, [String(options.threads)], {
      execArgv: [`--max-old-space-size=${options.heapMb}`],
      serialization: 'advanced',
      cwd: options.env.cwd,
      env: { ...options.env.variables, ...compileCache() },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
    });
    this.#child.on('message', (message) => this.#hear(message as FromWorker));
    this.#gone = new Promise((resolve) => {
      this.#child.once('error', (error) =>
        this.#end(`it could not be started: ${error.message}`, resolve),
      );
      this.#child.once('close', (code, signal) => this.#end(this.#whyGone(code, signal), resolve));
    });
  }

  get ready(): boolean {
    return this.#ready;
  }

  get idle(): boolean {
    return this.#ready && this.#job === undefined;
  }

  /** Whether it got as far as taking runs. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /**
   * Whether a run of it was asked to stop; it may have left a source behind that is blocked in a
   * call of the system.
   */
  get wasStopped(): boolean {
    return this.#wasStopped;
  }

  get runs(): number {
    return this.#runs;
  }

  run(job: PoolJob): void {
    this.#job = job;
    this.#runs += 1;
    job.assign(this);
    this.#say({ type: 'run', ticket: job.ticket });
    job.listener.begun();
  }

  stop(job: PoolJob, why: StopCause, graceMs: number): void {
    if (this.#job !== job) return;
    this.#wasStopped = true;
    this.#say({ type: 'stop', why });
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => {
      this.#killedAfterMs = graceMs;
      this.#child.kill('SIGKILL');
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
    this.#child.kill('SIGKILL');
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
      case 'opened':
        this.#job?.listener.opened?.(message.news);
        return;
      case 'finished':
        this.#pass(message.rest);
        if (message.moved.length > 0) this.#job?.listener.moved?.(message.moved);
        this.#settle({ type: 'finished', outcome: message.outcome });
        this.#options.onDone(this);
        return;
      case 'broken':
        this.#broken = message.reason;
        return;
      default:
        message satisfies never;
    }
  }

  #pass({ lines, measured, progress }: Batch): void {
    const listener = this.#job?.listener;
    if (lines.length > 0) listener?.log(lines);
    if (measured.changes.length > 0 || measured.definitions.length > 0)
      listener?.metrics(measured.changes, measured.definitions);
    if (progress !== undefined) listener?.progress(progress);
  }

  #settle(end: RunEnd): void {
    clearTimeout(this.#graceTimer);
    const job = this.#job;
    this.#job = undefined;
    job?.settle(end);
  }

  #end(reason: string, resolve: () => void): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#ready = false;
    this.#settle({ type: 'crashed', reason });
    resolve();
    this.#options.onGone(this, reason, this.#stderr);
  }

  #whyGone(code: number | null, signal: NodeJS.Signals | null): string {
    if (this.#killedAfterMs !== undefined)
      return `it did not stop within ${this.#killedAfterMs / 1000} s and was ended by force`;
    if (/heap out of memory|invalid array length Allocation failed/i.test(this.#stderr)) {
      return `it needed more memory than the limit of ${this.#options.heapMb} MB; smaller pages (\`batch_size\`) need less`;
    }
    if (this.#broken !== undefined) return `its worker process broke down: ${this.#broken}`;
    if (signal !== null) return `its worker process was ended by ${signal}`;
    return `its worker process ended unexpectedly with exit status ${code}`;
  }

  /** A process that is ending takes no messages; its end is noticed by itself. */
  #say(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}

/**
 * Where this process keeps compiled code, a new one need not compile it again: it is ready in half
 * the time.
 */
function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
