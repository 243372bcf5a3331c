/** One worker as the pool sees it. */
import type { Access } from '../../lib/access.ts';
import type { Env } from '../../lib/env.ts';
import type { JobEnd, JobKind, StopCause } from '../../wire/job.ts';
import { CrashReason } from './crash-reason.ts';
import { Pace, RunningMean } from './pace.ts';
import type { JobHolder, PoolJob } from './pool-job.ts';
import type { Batch, FromWorker, ToWorker } from './protocol.ts';
import { startProcess, type ProcessEnd, type WorkerProcess } from './worker-process.ts';

/** How long a job that nobody waits for any more may keep its worker from other jobs. */
const UNWANTED_MS = 1000;
/** A job whose worker has less time than this to wait in keeps a processor busy. */
const BUSY_IDLE_MS = 5;

export interface PoolWorkerOptions {
  /** Where relative paths start, and what the process sees of the environment. */
  readonly env: Pick<Env, 'cwd' | 'variables'>;
  readonly access: Access;
  readonly entry: string;
  readonly heapMb: number;
  readonly threads: number;
  readonly purpose: 'runs' | 'jobs';
  /** It takes no more than these. */
  readonly jobsPerWorker: number;
  /** It is given jobs ahead that take so long together. */
  readonly aheadMs: number;
  readonly onReady: (worker: PoolWorker) => void;
  readonly onDone: (worker: PoolWorker) => void;
  /** Jobs that it had not begun, in their order. */
  readonly onGivenBack: (jobs: readonly PoolJob[]) => void;
  /** After the process has ended; `tail` is the end of what it wrote to its standard error. */
  readonly onGone: (worker: PoolWorker, reason: string, tail: string) => void;
}

export class PoolWorker implements JobHolder {
  readonly #options: PoolWorkerOptions;
  readonly #process: WorkerProcess;
  readonly #gone = Promise.withResolvers<void>();
  readonly #crash: CrashReason;
  readonly #pace: Pace;
  /** For how long its jobs wait for something else than a processor. */
  readonly #idle = new RunningMean(0);
  /** Given to it and not answered, in their order: it executes the first. */
  readonly #jobs: PoolJob[] = [];
  /** Of those, the ones that are not sent yet. */
  #unsent: PoolJob[] = [];
  #begunAt = 0;
  #count = 0;
  #lastKind: JobKind | undefined;
  #ready = false;
  #wasReady = false;
  #ended = false;
  #isFilling = false;
  /** It may be at a job that another worker was given. */
  #isDropping = false;
  #isSlow = false;
  #isSpent = false;
  #endedBy: ProcessEnd['signal'];
  #killTimer: NodeJS.Timeout | undefined;

  constructor(options: PoolWorkerOptions) {
    this.#options = options;
    const { access, entry, heapMb, env } = options;
    this.#crash = new CrashReason(heapMb);
    this.#pace = new Pace(options.aheadMs);
    const yields = options.purpose === 'runs';
    const words = [String(options.threads), options.purpose, JSON.stringify(access)];
    const variables = withoutCredentials(env.variables, access);
    this.#process = startProcess(
      { entry, words, heapMb, cwd: env.cwd, variables, yields },
      {
        onMessage: (message) => this.#hear(message),
        onStderr: (text) => this.#crash.wrote(text),
        onEnd: (end) => this.#end(end),
      },
    );
  }

  get ready(): boolean {
    return this.#ready;
  }

  get idle(): boolean {
    return this.#ready && this.#jobs.length === 0 && !this.#isDropping;
  }

  /** Whether it got as far as taking jobs. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /**
   * A signal to the whole process group ended it before its first line could say that the server
   * decides: nothing is wrong with it.
   */
  get wasInterrupted(): boolean {
    return !this.#wasReady && (this.#endedBy === 'SIGTERM' || this.#endedBy === 'SIGINT');
  }

  /**
   * A job of it was asked to stop; it may have left a source behind that is blocked in a call of the
   * system.
   */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** It has had its share of jobs. */
  get isUsedUp(): boolean {
    return this.#count >= this.#options.jobsPerWorker;
  }

  /** What it executes, or executed last: it is quicker with more of them. */
  get kind(): JobKind | undefined {
    return this.#lastKind;
  }

  /** Whether it does jobs quickly, several in the time that it has them ahead. */
  get isQuick(): boolean {
    return !this.#isSlow && this.#pace.depth(2) > 1;
  }

  /** Whether what it executes takes long. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /**
   * Whether it can take another job in a moment, as far as that can be known: its jobs hardly wait
   * for anything, and that at hand was begun less than `withinMs` ago.
   */
  isFreeSoon(withinMs: number): boolean {
    const [head] = this.#jobs;
    if (head === undefined || head.ahead !== undefined || !this.#ready || this.#isSpent)
      return false;
    return this.#idle.ms <= BUSY_IDLE_MS && performance.now() - this.#begunAt < withinMs;
  }

  /** Whether it takes the job behind those that it has. Many at a time cost less than one by one. */
  takes({ ahead, kind }: PoolJob): boolean {
    const { length } = this.#jobs;
    if (ahead === undefined || length === 0 || this.#isSlow || this.#isSpent) return false;
    if (this.#isDropping) return false;
    if (this.#lastKind !== kind || !this.#ready || this.isUsedUp) return false;
    const depth = this.#pace.depth(ahead.jobs);
    if (length <= depth / 2) this.#isFilling = true;
    if (length >= depth) this.#isFilling = false;
    return this.#isFilling;
  }

  run(job: PoolJob): void {
    this.#count += 1;
    this.#lastKind = job.kind;
    job.assign(this);
    if (this.#unsent.push(job) === 1) setImmediate(() => this.#send());
    if (this.#jobs.push(job) === 1) this.#begin();
  }

  stop(job: PoolJob, why: StopCause, graceMs: number): void {
    // Not begun: it is executed when those before it have ended, and nobody hears of it.
    if (this.#jobs[0] !== job) return job.settleUnbegun();
    this.#isSpent = true;
    this.#giveBack();
    this.#send();
    this.#say({ type: 'stop', why });
    clearTimeout(this.#killTimer);
    this.#killTimer = setTimeout(() => {
      this.#crash.killedAfterMs = graceMs;
      this.#process.kill();
    }, graceMs);
  }

  giveWay(job: PoolJob): void {
    if (this.#jobs[0] !== job) return;
    this.#isSlow = true;
    if (this.#giveBack() === 0) return;
    this.#isDropping = true;
    this.#say({ type: 'drop', except: job.job.id });
  }

  answerOwner({ job: { id } }: PoolJob, question: number, isOwned: boolean): void {
    this.#say({ type: 'owner', id, question, isOwned });
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
    return this.#gone.promise;
  }

  #hear(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        this.#ready = true;
        this.#wasReady = true;
        this.#options.onReady(this);
        return;
      case 'batch':
        this.#pass(message.id, message.batch);
        if (message.isAwaited) this.#say({ type: 'ack' });
        return;
      case 'done':
        this.#pass(message.id, message.rest);
        this.#answered(message);
        return;
      case 'dropped':
        this.#isDropping = false;
        if (this.#jobs.length > 0) return;
        clearTimeout(this.#killTimer);
        this.#options.onDone(this);
        return;
      case 'broken':
        this.#crash.broken = message.reason;
        return;
      default:
        message satisfies never;
    }
  }

  #pass(id: string, batch: Batch): void {
    const [head] = this.#jobs;
    if (head === undefined || head.isSettled || head.job.id !== id) return;
    for (const event of batch) head.hear(event);
  }

  /** One that was given to another worker is no longer in the list. */
  #answered({ id, end, idleMs }: Extract<FromWorker, { readonly type: 'done' }>): void {
    if (this.#jobs[0]?.job.id !== id) return;
    this.#pace.done(performance.now() - this.#begunAt);
    this.#idle.add(idleMs);
    this.#settle(end);
    if (this.#isDropping) this.#killSoon();
    this.#begin();
    this.#options.onDone(this);
  }

  #begin(): void {
    const [head] = this.#jobs;
    if (head === undefined) return;
    this.#begunAt = performance.now();
    if (head.isSettled) this.#killSoon();
    else head.hear({ kind: 'begun' });
  }

  /** Unless it goes on before: nobody waits for what it executes. */
  #killSoon(): void {
    this.#killTimer = setTimeout(() => {
      this.#giveBack();
      void this.kill();
    }, UNWANTED_MS);
  }

  #settle(end: JobEnd): void {
    clearTimeout(this.#killTimer);
    this.#isSlow = false;
    this.#jobs.shift()?.settle(end);
  }

  /** Gives the jobs that it has not begun to others; returns how many there were. */
  #giveBack(): number {
    const behind = this.#jobs.splice(1);
    if (behind.length === 0) return 0;
    this.#unsent = this.#unsent.filter((job) => this.#jobs.includes(job));
    for (const job of behind) job.assign(undefined);
    this.#options.onGivenBack(behind.filter((job) => !job.isSettled));
    return behind.length;
  }

  #end(end: ProcessEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#ready = false;
    this.#endedBy = end.signal;
    const reason = this.#crash.sentence(end);
    this.#giveBack();
    this.#settle({ type: 'crashed', reason, why: this.#crash.cause(this.#wasReady) });
    this.#gone.resolve();
    this.#options.onGone(this, reason, this.#crash.tail);
  }

  /** What it was given in one turn of the event loop is one message. */
  #send(): void {
    if (this.#unsent.length === 0) return;
    this.#say({ type: 'jobs', jobs: this.#unsent.map(({ job }) => job) });
    this.#unsent = [];
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
