/** One run from its place in the queue to its final record. */
import type { DoneSoFar } from '../../history/cluster.ts';
import type { RunEnding, RunFence, StoredRun } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { JOB_VERSION, type Job, type JobEnd, type StopCause } from '../../wire/job.ts';
import type { Progress, RunOutcome } from '../../wire/outcome.ts';
import type { Callback } from '../../wire/run.ts';
import { priorityOf, type RunPriority } from '../../wire/run-priority.ts';
import type { RunEvent, RunIdentity } from '../../wire/run-event.ts';
import type { Shard } from '../../wire/shards.ts';
import type { StoredSubmissionContent } from '../../wire/submission.ts';
import type { JobExecutor, JobHandle } from '../worker/executor.ts';
import { runsTotal } from './metrics.ts';
import { doneSoFar, endingOf, outcomeOf, type EndContext, type RunEnd } from './record.ts';
import { RunStart, type RunStartServices } from './run-start.ts';

const LONGEST_SLEEP_MS = 86_400_000;
const UNSTARTED: RunEnd = { type: 'crashed', reason: 'it had not started yet' };

export interface LiveRunOptions {
  /** As it was stored. */
  readonly run: StoredRun;
  readonly identity: RunIdentity;
  readonly fence: RunFence;
  readonly submission: StoredSubmissionContent;
  /** Content of the default document that it is merged over. */
  readonly base: string | null;
  readonly callback: Callback | undefined;
  /** Absent where servers do not share their runs. */
  readonly claimed?: ClaimOfRun | undefined;
}

/** What a run in shards needs of the servers that share it. */
export interface ShardService {
  /** Puts the shards into the queue in place of the run. False when it is not ours any more. */
  split(this: void, fence: RunFence, shards: readonly Shard[]): Promise<boolean>;
  /** False when the record of the shard is not ours. */
  finish(this: void, fence: RunFence, ending: RunEnding): Promise<boolean>;
}

/** By which claim it is ours. */
export interface ClaimOfRun {
  /** How often it was claimed, this time included. */
  readonly number: number;
  /** As `clock.elapsedMs()`: no other server takes it over before. */
  readonly trustedUntil: number;
  /** How much of the time of the run was over before this shard of it began. */
  readonly spentMs: number;
}

export interface LiveRunServices extends RunStartServices {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly executor: JobExecutor;
  readonly isLevelChosen: boolean;
  readonly outputsExpire: EndContext['outputsExpire'];
  /** Hears every event of a run. */
  readonly follow: (run: RunIdentity) => (event: RunEvent) => void;
  /** Hands what was heard of a log, which has ended, to the store; resolves when it is stored or dropped. */
  readonly flushLog: (runId: string) => Promise<void>;
  /** How long a run that is asked to stop may take to flush before its worker is killed. */
  readonly stopGraceMs: number;
  /** The run is over here, whether it could be recorded or not. */
  readonly onOver: (run: LiveRun) => void;
  /** The end of the run is on record. */
  readonly onRecorded: (run: LiveRun) => void;
  /** Present where servers share the shards of runs. */
  readonly shards?: ShardService;
  /** Gives a run back to the servers that share it. */
  readonly release?: (fence: RunFence, done: DoneSoFar) => Promise<boolean>;
}

export class LiveRun {
  readonly identity: RunIdentity;
  readonly fence: RunFence;
  readonly callback: Callback | undefined;
  /** May be recorded before a slot is free for it. */
  readonly start: RunStart;
  readonly #run: StoredRun;
  readonly #submission: StoredSubmissionContent;
  readonly #base: string | null;
  readonly #claim: number | undefined;
  readonly #spentMs: number;
  /** As `clock.elapsedMs()`: from then on another server may execute it. */
  #trustedUntil: number;
  readonly #services: LiveRunServices;
  /** Made with the first event: a run that waits has none. */
  #follower: ((event: RunEvent) => void) | undefined;
  /** As `clock.elapsedMs()`, where the time of its start is that of the store's clock. */
  #startedElapsed: number | undefined;
  #progress: Progress | undefined;
  #handle: JobHandle | undefined;
  #stopped: StopCause | undefined;
  #closing = false;
  /** Others go on with it: what becomes of it here is not its end. */
  #fate: 'ours' | 'given_back' | 'lost' = 'ours';
  /** Others may execute it at this moment. */
  #isForsaken = false;
  /** What it moved; it counts when its end is on record. */
  readonly #moved: RunEvent[] = [];
  /** Into which it falls; servers execute them one by one. */
  #shards: readonly Shard[] | undefined;
  /** Of its document; nobody has looked at that of a run that did not begin. */
  #holdsCredentials = true;
  /** Fires when the run no longer waits. */
  #waited: AbortController | undefined;
  /** Fires when its worker has answered; absent without a limit of time. */
  #executed: AbortController | undefined;

  constructor(options: LiveRunOptions, services: LiveRunServices) {
    this.identity = options.identity;
    this.fence = options.fence;
    this.callback = options.callback;
    this.#run = options.run;
    this.#submission = options.submission;
    this.#base = options.base;
    this.#claim = options.claimed?.number;
    this.#spentMs = options.claimed?.spentMs ?? 0;
    this.#trustedUntil = options.claimed?.trustedUntil ?? Number.POSITIVE_INFINITY;
    // Whoever claims a run starts it in the same step.
    const isStarted = options.run.status === 'running';
    if (isStarted) this.#startedElapsed = services.env.clock.elapsedMs();
    this.start = new RunStart(options.fence, isStarted ? options.run.started_at : null, services);
    this.#services = services;
  }

  get priority(): RunPriority {
    return priorityOf(this.#run);
  }

  /** It is one of the parts of a run. */
  get isShard(): boolean {
    return this.#run.shard !== undefined;
  }

  /** It is in the queue of several servers as well. */
  get isClaimed(): boolean {
    return this.#claim !== undefined;
  }

  get progress(): Progress | undefined {
    return this.#progress;
  }

  /** What its record says, as far as it is known without asking the store. */
  get known(): StoredRun {
    const { at } = this.start;
    return at === null ? this.#run : { ...this.#run, status: 'running', started_at: at };
  }

  /** The outcome is known and being recorded: nothing can be stopped any more. */
  get closing(): boolean {
    return this.#closing;
  }

  /** Something that the server knows of the run. */
  tell(event: RunEvent): void {
    this.#follower ??= this.#services.follow(this.identity);
    this.#follower(event);
  }

  /** A run that waits for a slot for as long as it may execute has failed. */
  async limitWait(submittedAt: string, onOver: () => void): Promise<void> {
    const { timeout_secs: timeoutSecs } = this.#submission;
    if (timeoutSecs === null) return;
    const { clock } = this.#services.env;
    this.#waited = new AbortController();
    const waitedMs = clock.now().getTime() - Date.parse(submittedAt);
    await sleepLong(clock, timeoutSecs * 1000 - waitedMs, this.#waited.signal);
    if (!this.#waited.signal.aborted) onOver();
  }

  /** It is executed, ended or left to another server. */
  endWait(): void {
    this.#waited?.abort();
  }

  /** The first cause counts. */
  stop(cause: StopCause): void {
    if (this.#stopped !== undefined || this.#closing) return;
    this.#stopped = cause;
    this.#handle?.stop(cause, this.#services.stopGraceMs);
  }

  /** Stops it at its next page; another server goes on from there, unless it has ended by then. */
  giveBack(): void {
    if (this.#fate === 'ours' && this.#stopped === undefined && !this.#closing)
      this.#fate = 'given_back';
    this.stop('shutdown');
  }

  /** No other server can have it. */
  get isOwned(): boolean {
    return !this.#isForsaken && this.#services.env.clock.elapsedMs() < this.#trustedUntil;
  }

  /** Its lease was renewed. */
  trust(until: number): void {
    this.#trustedUntil = Math.max(this.#trustedUntil, until);
  }

  /** It belongs to another server: its worker is killed, and nothing of it is recorded. */
  lose(): void {
    this.#fate = 'lost';
    this.#isForsaken = true;
    this.#stopped ??= 'shutdown';
    this.#handle?.stop('shutdown', 0);
  }

  /** As `lose`, where it is not known whether another server has it. */
  loseTouch(): void {
    if (this.#fate === 'ours') this.#fate = 'given_back';
    this.#isForsaken = true;
    this.#stopped ??= 'shutdown';
    this.#handle?.stop('shutdown', 0);
  }

  /**
   * Takes the run over and executes it. Undefined when it is not ours to record (any more). Never
   * rejects.
   */
  async execute(): Promise<RunEnd | undefined> {
    this.endWait();
    if (this.#leftMs <= 0) this.#stopped ??= 'timeout';
    if (this.#stopped !== undefined) return UNSTARTED;
    try {
      return (await this.start.record()) ? await this.#execute() : undefined;
    } catch (error) {
      this.#services.env.log.error('a run could not be started', {
        run_id: this.fence.run_id,
        error: messageOf(error),
      });
      return undefined;
    }
  }

  /** Makes the end of the run durable and tells whoever waits for it. Never rejects. */
  async record(end: RunEnd | undefined): Promise<void> {
    this.endWait();
    try {
      if (end !== undefined) await this.#record(end);
    } catch (error) {
      this.#services.env.log.error('a run could not be recorded', {
        run_id: this.fence.run_id,
        error: messageOf(error),
      });
    } finally {
      this.#services.onOver(this);
    }
  }

  /** Ends a run that never got a slot. */
  endUnstarted(cause: StopCause): Promise<void> {
    this.#stopped = cause;
    return this.record(UNSTARTED);
  }

  /** Ends a run that cannot be started, with the sentence that says why. */
  endImpossible(reason: string): Promise<void> {
    return this.record({ type: 'crashed', reason });
  }

  async #execute(): Promise<RunEnd> {
    if (this.#stopped !== undefined) return UNSTARTED;
    const handle = this.#services.executor.start(this.#job(), (event) => this.#hear(event));
    this.#handle = handle;
    const end = await handle.done;
    this.#executed?.abort();
    this.#closing = true;
    // What another server goes on with has not ended.
    if (end.type === 'crashed' && this.#fate === 'ours') this.#tellCrash(end.reason);
    return this.#endOf(end);
  }

  #job(): Job {
    const { env, isLevelChosen } = this.#services;
    const { config, config_format, name, bound, ...settings } = this.#submission;
    const { clock, zone, concurrency, reads_anew } = settings;
    const claim = this.#claim;
    const { shard } = this.#run;
    return {
      version: JOB_VERSION,
      id: this.fence.run_id,
      log_level: env.log.level,
      is_level_chosen: isLevelChosen,
      request: {
        kind: 'run',
        run_id: this.fence.run_id,
        document: {
          config,
          config_format,
          name,
          base: this.#base,
          ...(bound === undefined ? {} : { bound }),
        },
        clock,
        ...(zone === undefined ? {} : { zone }),
        concurrency,
        reads_anew,
        ...(claim === undefined ? {} : { claim }),
        ...(shard === undefined ? {} : { shard }),
      },
    };
  }

  #hear(event: RunEvent): void {
    if (event.kind === 'asks_owner') {
      const { isOwned } = this;
      this.#handle?.answerOwner(event.question, isOwned);
      // That the worker writes nothing more and fails is not the end of the run.
      if (!isOwned) this.loseTouch();
      return;
    }
    if (event.kind === 'sharded') {
      this.#shards = event.shards;
      return;
    }
    if (event.kind === 'moved') {
      this.#moved.push(event);
      return;
    }
    if (event.kind === 'begun') {
      this.#holdsCredentials = false;
      void this.#limitExecution();
    }
    if (event.kind === 'credentials') this.#holdsCredentials = true;
    if (event.kind === 'progress') this.#progress = event.progress;
    this.tell(event);
  }

  /** By the clock that its start was read from: those of machines may differ by minutes. */
  #now(): string {
    const { clock } = this.#services.env;
    const { at } = this.start;
    if (at === null || this.#startedElapsed === undefined) return clock.now().toISOString();
    return new Date(Date.parse(at) + clock.elapsedMs() - this.#startedElapsed).toISOString();
  }

  #endOf(end: JobEnd): RunEnd {
    switch (end.type) {
      case 'crashed':
        return end;
      case 'finished':
        // What a worker gives for a request to run.
        return { type: 'finished', outcome: end.answer as RunOutcome };
      case 'refused': {
        const now = this.#services.env.clock.now().toISOString();
        return { type: 'finished', outcome: outcomeOf(end.fault, this.identity.name, now) };
      }
      default:
        return end satisfies never;
    }
  }

  #tellCrash(reason: string): void {
    this.tell({ kind: 'crashed', reason });
    const ts = this.#services.env.clock.now().toISOString();
    const line = `ERROR headgate::runs: pipeline run ended abnormally: ${reason}`;
    this.tell({
      kind: 'log',
      lines: [{ ts, level: 'ERROR', line: line.replaceAll(/[\r\n]+/g, ' ') }],
    });
  }

  /** For its execution, from the start. */
  get #leftMs(): number {
    const { timeout_secs: timeoutSecs } = this.#submission;
    return timeoutSecs === null ? Number.POSITIVE_INFINITY : timeoutSecs * 1000 - this.#spentMs;
  }

  async #limitExecution(): Promise<void> {
    const leftMs = this.#leftMs;
    if (leftMs === Number.POSITIVE_INFINITY) return;
    const executed = (this.#executed = new AbortController());
    await sleepLong(this.#services.env.clock, leftMs, executed.signal);
    if (!executed.signal.aborted) this.stop('timeout');
  }

  /** Its log is stored, and another server may go on with it. */
  async #leave(end: RunEnd): Promise<void> {
    const { env, health, giveUp, flushLog, release, outputsExpire } = this.#services;
    const { run_id } = this.fence;
    const flushed = flushLog(run_id);
    const done = doneSoFar(end, { earlier: this.#run, outputsExpire });
    const isReleased =
      this.#fate === 'given_back' &&
      release !== undefined &&
      (await health.insist(() => release(this.fence, done), giveUp));
    await flushed;
    env.log.info(
      isReleased ? 'a run was given back to the queue' : 'a run belongs to another server',
      {
        run_id,
      },
    );
  }

  /** What becomes of the run is decided by its shards. */
  async #split(shards: readonly Shard[]): Promise<void> {
    const { env, health, giveUp, flushLog, shards: service } = this.#services;
    const { run_id } = this.fence;
    const flushed = flushLog(run_id);
    const isSplit =
      service !== undefined &&
      (await health.insist(() => service.split(this.fence, shards), giveUp));
    await flushed;
    env.log.info(
      isSplit ? 'a run was put into the queue in shards' : 'a run belongs to another server',
      {
        run_id,
        ...(isSplit ? { shards: shards.length } : {}),
      },
    );
  }

  async #record(end: RunEnd): Promise<void> {
    const { env, health, giveUp, flushLog, onRecorded, outputsExpire } = this.#services;
    this.#closing = true;
    // Whether it started is part of its record.
    await this.start.settled();
    if (this.#fate !== 'ours' && !isComplete(end)) return this.#leave(end);
    if (this.#shards !== undefined && isComplete(end)) return this.#split(this.#shards);
    const { ending, reason } = endingOf(end, {
      stopped: this.#stopped,
      timeoutSecs: this.#submission.timeout_secs,
      earlier: this.#run,
      progress: this.#progress,
      finishedAt: this.#now(),
      outputsExpire,
    });
    // Asked for in this order, and so stored in this order: whoever sees the end of a run can read
    // its log to the end.
    const flushed = flushLog(this.fence.run_id);
    const whole = { ...ending, erases_submission: this.#holdsCredentials };
    const finishShard = this.isShard ? this.#services.shards?.finish : undefined;
    const recorded = await health.insist(
      (history) => finishShard?.(this.fence, whole) ?? history.finishRun(this.fence, whole),
      giveUp,
    );
    await flushed;
    if (!recorded) {
      env.log.warn('a result was refused: the record belongs to somebody else or has ended', {
        run_id: this.fence.run_id,
      });
      return;
    }
    const { status, error, finished_at } = ending;
    if (!this.isShard) env.metrics.inc(runsTotal, { status, reason });
    env.log.info(this.isShard ? 'shard of a run ended' : 'run ended', {
      run_id: this.fence.run_id,
      name: this.identity.name,
      status,
      reason,
    });
    for (const event of this.#moved) this.tell(event);
    onRecorded(this);
    const outcome = end.type === 'finished' ? end.outcome : null;
    const started_at = this.start.at;
    this.tell({ kind: 'ended', end: { status, started_at, finished_at, error, outcome } });
  }
}

function isComplete(end: RunEnd): boolean {
  return end.type === 'finished' && end.outcome.status === 'completed';
}

/** In parts: a timer of more than 24 days would fire at once. */
async function sleepLong(clock: Env['clock'], ms: number, over: AbortSignal): Promise<void> {
  const deadline = clock.elapsedMs() + ms;
  for (let left = ms; left > 0 && !over.aborted; left = deadline - clock.elapsedMs())
    await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), over);
}
