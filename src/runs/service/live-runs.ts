/** The runs that this instance answers for: those that wait for a slot, and those that execute. */
import type { ClaimedRun } from '../../history/cluster.ts';
import type { AdoptedRun, StoredRun } from '../../history/history.ts';
import { messageOf } from '../../lib/errors.ts';
import type { StopCause } from '../../wire/job.ts';
import type { Callback } from '../../wire/run.ts';
import type { StoredSubmissionContent } from '../../wire/submission.ts';
import { UNNAMED } from '../planning/open-document.ts';
import { LiveRun, type ClaimOfRun, type LiveRunServices } from './live-run.ts';
import type { NewRun } from './new-run.ts';
import type { Preparation } from './new-run.ts';
import { RunQueue, type Reservation } from './queue.ts';
import { RunPace } from './run-pace.ts';
import { isWithheld, readSubmission } from './stored-submission.ts';

export interface LiveRunsOptions {
  readonly owner: string;
  readonly leaseTtlSecs: number;
  readonly slots: number;
  /** Runs that may wait beyond those that can start at once. */
  readonly capacity: number;
  readonly onChange: (queued: number, inFlight: number) => void;
  readonly services: Omit<LiveRunServices, 'noteStart'>;
  /** A slot is free, or may be. */
  readonly onRoom?: () => void;
}

/** Lines that one execution of a run may log, and numbers between two of them. */
const LINES_OF_CLAIM = 1_000_000_000;
/** Queued runs taken over at a time. */
const ADOPT_AT_ONCE = 100;
/**
 * After this time a run that was claimed ahead of a slot is given back, because other servers may have
 * one; one that was started ahead of it waits again.
 */
const GIVE_BACK_MS = 250;

export class LiveRuns {
  readonly #options: LiveRunsOptions;
  readonly #services: LiveRunServices;
  readonly #queue: RunQueue<LiveRun>;
  readonly #pace: RunPace;
  /** Claimed or started ahead of a slot, with the time as `clock.elapsedMs()`. */
  readonly #ahead = new Map<LiveRun, number>();
  #isWatching = false;
  /** Not recorded as ended yet. */
  readonly #runs = new Map<string, LiveRun>();
  /** Ends of runs that are being recorded. */
  readonly #endings = new Set<Promise<void>>();
  #isHeld = false;
  #isStopped = false;
  #adopting: Promise<void> | undefined;
  /** There may be more queued runs to take over than there was room for. */
  #hasMore = false;

  constructor(options: LiveRunsOptions) {
    this.#options = options;
    const { slots, capacity, onChange, services } = options;
    this.#pace = new RunPace({ clock: services.env.clock, slots });
    this.#services = { ...services, noteStart: (ms) => this.#pace.noteStart(ms) };
    this.#queue = new RunQueue({ slots, capacity, onChange }, (run) => this.#execute(run));
  }

  get all(): ReadonlyMap<string, LiveRun> {
    return this.#runs;
  }

  get full(): boolean {
    return this.#queue.full;
  }

  /** Runs that could begin now. */
  get free(): number {
    return this.#isHeld ? 0 : this.#queue.free;
  }

  /**
   * Runs that may be claimed before a slot is free for them, so that one question to the store serves
   * several small runs. None before half of those that were claimed ahead have begun.
   */
  get ahead(): number {
    const most = this.#isHeld ? 0 : this.#pace.ahead;
    const { waiting } = this.#queue;
    return 2 * waiting > most ? 0 : most - waiting;
  }

  get inFlight(): number {
    return this.#queue.inFlight;
  }

  get(runId: string): LiveRun | undefined {
    return this.#runs.get(runId);
  }

  /** Throws `queue_full`. */
  reserve(): Reservation<LiveRun> {
    return this.#queue.reserve();
  }

  /** A run that was stored just now. */
  enter(fresh: NewRun, preparation: Preparation, place: Reservation<LiveRun>): void {
    const { run, content } = fresh;
    if (this.#isHeld) return place.release();
    const live = this.#liveRun(run, content, {
      base: preparation.base?.content ?? null,
      callback: preparation.submission.callback ?? undefined,
      name: preparation.summary.name,
    });
    const { notified } = preparation.summary;
    if (notified !== undefined) live.tell({ kind: 'planned', notified });
    // The grace was over before the run was stored: it is recorded as ended by the shutdown.
    if (this.#isStopped) live.stop('shutdown');
    place.enter(live);
    this.#limitWait(live, run.submitted_at);
    this.#startAhead();
  }

  /** A waiting run ends at once; an executing one when it has flushed. */
  stop(run: LiveRun, cause: StopCause): Promise<void> {
    this.#ahead.delete(run);
    if (this.#queue.remove(run)) return this.#settle(run, run.endUnstarted(cause));
    run.stop(cause);
    return Promise.resolve();
  }

  stopAll(): void {
    this.#isStopped = true;
    for (const run of this.#runs.values()) void this.stop(run, 'shutdown');
  }

  /**
   * A run that this server has claimed, for a free slot or ahead of one. Resolves when it executes or
   * waits for its slot, or has ended without.
   */
  enterClaimed(claimed: ClaimedRun, trustedUntil: number): Promise<void> {
    const by = { number: claimed.claim, trustedUntil, spentMs: spentMs(claimed) };
    return this.#take(claimed, this.#queue.reserveAnyway(), by);
  }

  /** Ends all executions here; other servers go on with them. */
  giveAllBack(): void {
    this.#isStopped = true;
    for (const run of this.#runs.values()) run.giveBack();
  }

  /** Starts nothing any more; waiting runs stay queued in the history, for the next server. */
  hold(): void {
    this.#isHeld = true;
    for (const run of this.#queue.takeWaiting())
      if (run.isClaimed) void this.#giveBackUnstarted(run);
      else void this.#leaveQueued(run);
  }

  /** Resolves when nothing waits or executes, and every end is recorded. */
  async idle(): Promise<void> {
    await this.#adopting;
    await this.#queue.idle();
    await Promise.all(this.#endings);
  }

  /** Takes over queued runs whose server is gone, as many as there is room for. */
  async adopt(): Promise<void> {
    this.#adopting ??= this.#adoptSome().finally(() => {
      this.#adopting = undefined;
    });
    await this.#adopting;
  }

  /**
   * No place is held while the history is asked: submissions would be refused for runs that mostly do
   * not exist. Those that are found were accepted before, and are not refused for want of a place.
   */
  async #adoptSome(): Promise<void> {
    const { env, health } = this.#options.services;
    const limit = this.#isHeld ? 0 : Math.min(ADOPT_AT_ONCE, this.#queue.room);
    if (limit === 0) return;
    const now = env.clock.now().getTime();
    const adopted = await health.ask((history) =>
      history.adoptQueued({
        owner: this.#options.owner,
        now: new Date(now).toISOString(),
        leaseUntil: new Date(now + this.#options.leaseTtlSecs * 1000).toISOString(),
        limit,
      }),
    );
    this.#hasMore = adopted.length === limit;
    if (adopted.length > 0)
      env.log.info('queued runs of a server that is gone were taken over', {
        runs: adopted.length,
      });
    for (const one of adopted) void this.#take(one, this.#queue.reserveAnyway());
  }

  #take(
    { run, submission }: AdoptedRun,
    place: Reservation<LiveRun>,
    claimed?: ClaimOfRun,
  ): Promise<void> {
    const content = readSubmission(submission);
    const impossible =
      content === undefined
        ? 'its submission was stored by another build, which this one cannot read'
        : isWithheld(content)
          ? 'it was submitted with secret values, which are not stored, to a server that is gone; submit it again'
          : undefined;
    if (content === undefined || impossible !== undefined) {
      place.release();
      const live = this.#liveRun(run, UNREADABLE, { base: null, callback: undefined, claimed });
      return this.#settle(live, live.endImpossible(impossible ?? ''));
    }
    if (content.callback === 'withheld')
      this.#options.services.env.log.warn(
        'nobody is called back at the end of a run that was taken over: the header values or the login of its callback are not stored',
        { run_id: run.run_id },
      );
    const callback = content.callback === 'recorded' ? (run.callback as Callback) : undefined;
    const base = submission.base?.content ?? null;
    const live = this.#liveRun(run, content, { base, callback, claimed });
    if (run.cancel_requested) {
      place.release();
      return this.#settle(live, live.endUnstarted('cancel'));
    }
    if (!this.#isHeld) {
      place.enter(live);
      this.#limitWait(live, run.submitted_at);
      this.#startAhead();
      if (live.isClaimed && this.#queue.holds(live)) this.#watchAhead(live);
      return Promise.resolve();
    }
    place.release();
    if (live.isClaimed) return this.#giveBackUnstarted(live);
    this.#forget(live);
    return Promise.resolve();
  }

  #giveBackUnstarted(run: LiveRun): Promise<void> {
    this.#ahead.delete(run);
    run.giveBack();
    return this.#settle(run, run.record(NOT_BEGUN));
  }

  #leaveQueued(run: LiveRun): Promise<void> {
    this.#ahead.delete(run);
    if (!run.start.isAsked) return Promise.resolve(this.#forget(run));
    return this.#settle(
      run,
      run.start.undo().finally(() => this.#forget(run)),
    );
  }

  /**
   * Where it takes a while to record that a run starts, this is done for those that begin in a moment
   * while the slots are still taken, for several at once.
   */
  #startAhead(): void {
    let left = this.#isHeld || this.#isStopped ? 0 : this.#pace.startable;
    for (const run of left > 0 ? this.#queue.inTurn() : []) {
      if (left === 0) return;
      left -= 1;
      if (run.start.isAsked) continue;
      void run.start.record();
      this.#watchAhead(run);
    }
  }

  #watchAhead(run: LiveRun): void {
    const { clock } = this.#options.services.env;
    this.#ahead.set(run, clock.elapsedMs());
    if (!this.#isWatching) void this.#watch();
  }

  async #watch(): Promise<void> {
    const { clock } = this.#options.services.env;
    this.#isWatching = true;
    while (this.#ahead.size > 0) {
      await clock.sleep(GIVE_BACK_MS);
      const longAgo = clock.elapsedMs() - GIVE_BACK_MS;
      for (const [run, at] of this.#ahead) if (at <= longAgo) this.#tooEarly(run);
    }
    this.#isWatching = false;
  }

  /** The slot that it was claimed or started for is still taken. */
  #tooEarly(run: LiveRun): void {
    this.#ahead.delete(run);
    if (!this.#queue.holds(run)) return;
    this.#pace.forget();
    if (!run.isClaimed) void run.start.undo();
    else if (this.#queue.remove(run)) void this.#giveBackUnstarted(run);
  }

  /**
   * One that was claimed waits here for a moment only, and the server that it was submitted to may
   * have another clock.
   */
  #limitWait(run: LiveRun, submittedAt: string): void {
    if (run.isClaimed || !this.#queue.holds(run)) return;
    void run.limitWait(submittedAt, () => void this.stop(run, 'timeout'));
  }

  #liveRun(
    run: StoredRun,
    submission: StoredSubmissionContent,
    more: {
      readonly base: string | null;
      readonly callback: Callback | undefined;
      readonly name?: string;
      readonly claimed?: ClaimOfRun | undefined;
    },
  ): LiveRun {
    const { run_id, owner, attempt } = run;
    const { base, callback, claimed, name = run.name ?? UNNAMED } = more;
    const first_line = claimed === undefined ? 0 : (claimed.number - 1) * LINES_OF_CLAIM;
    const { parent_id, shard } = run;
    const execution = {
      ...(claimed === undefined ? {} : { execution: { owner, attempt } }),
      ...(parent_id === undefined || shard === undefined
        ? {}
        : { part_of: { run_id: parent_id, index: shard.index } }),
    };
    const live = new LiveRun(
      {
        run,
        identity: { run_id, name, measured_as: submission.measured_as, first_line, ...execution },
        fence: { run_id, owner, attempt },
        submission,
        base,
        callback,
        claimed,
      },
      this.#services,
    );
    this.#runs.set(run_id, live);
    return live;
  }

  async #execute(run: LiveRun): Promise<void> {
    this.#ahead.delete(run);
    const ended = this.#pace.begin();
    this.#startAhead();
    const end = await run.execute();
    ended();
    // The slot is free while the end is being recorded: the next run's start shares the same
    // commit.
    void this.#settle(run, run.record(end));
    setImmediate(() => this.#options.onRoom?.());
  }

  #settle(run: LiveRun, recorded: Promise<void>): Promise<void> {
    const ending = recorded.finally(() => {
      // It may have been claimed again here.
      if (this.#runs.get(run.fence.run_id) === run) this.#runs.delete(run.fence.run_id);
      this.#endings.delete(ending);
      if (this.#hasMore && !this.#isHeld) void this.#adoptQuietly();
    });
    this.#endings.add(ending);
    return ending;
  }

  async #adoptQuietly(): Promise<void> {
    try {
      await this.adopt();
    } catch (error) {
      this.#options.services.env.log.warn('queued runs could not be taken over', {
        error: messageOf(error),
      });
    }
  }

  #forget(run: LiveRun): void {
    run.endWait();
    this.#runs.delete(run.fence.run_id);
    this.#options.services.onOver(run);
  }
}

const NOT_BEGUN = { type: 'crashed', reason: 'it had not started yet' } as const;

/** Stands for a submission that cannot be read. */
const UNREADABLE: StoredSubmissionContent = {
  version: 1,
  config: '',
  config_format: 'json',
  name: null,
  clock: '',
  concurrency: null,
  timeout_secs: null,
  reads_anew: false,
  measured_as: null,
  callback: 'none',
};

/** Both times are those of the store. */
function spentMs({ run, runStartedAt }: ClaimedRun): number {
  if (runStartedAt === undefined || run.started_at === null) return 0;
  return Date.parse(run.started_at) - Date.parse(runStartedAt);
}
