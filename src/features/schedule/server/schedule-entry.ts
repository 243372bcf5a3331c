/** One schedule of the server: its scheduler, what is stored of it, and what is shown. */
import type {
  ScheduledRunRecord,
  ScheduleStore,
  StoredSchedule,
} from '../../../history/schedules.ts';
import type { Env } from '../../../lib/env.ts';
import { assert, messageOf, RefusedError } from '../../../lib/errors.ts';
import type { Log, LogFields } from '../../../lib/log.ts';
import { jsonEqual } from '../../../lib/text/json.ts';
import { parseCron } from '../../../lib/time/cron.ts';
import { outcomeOfEnd, type RunEnd } from '../../../runs/service/run-ends.ts';
import type { Caller } from '../../../runs/service/runs.ts';
import type { RunOutcome } from '../../../wire/outcome.ts';
import type { SubmissionReceipt } from '../../../wire/run.ts';
import type { ScheduleView } from '../../../wire/schedules.ts';
import { cooldownOf, type Job } from '../job.ts';
import { Scheduler, type Progress } from '../scheduler.ts';
import type { LoadedDocument, UsableSchedule } from './documents.ts';

export interface EntryServices {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly store: ScheduleStore;
  /** Submits the run of a tick; one that was submitted before gives that run. */
  readonly submit: (
    document: LoadedDocument,
    at: { readonly tick: Date; readonly caller: Caller; readonly isManual: boolean },
  ) => Promise<SubmissionReceipt>;
  /** Resolves when the run has ended. */
  readonly ended: (runId: string, signal: AbortSignal) => Promise<RunEnd>;
  readonly giveUp: (document: LoadedDocument, reason: string) => Promise<void>;
}

const RETRY_SAVE_MS = 1000;

export class ScheduleEntry {
  readonly name: string;
  readonly #services: EntryServices;
  readonly #env: EntryServices['env'];
  readonly #stop = new AbortController();
  #document: LoadedDocument;
  #stored: StoredSchedule | undefined;
  #scheduler: Scheduler | undefined;
  #schedulerStop = new AbortController();
  #paused: StoredSchedule['paused'] = null;
  #ended: StoredSchedule['ended'] = null;
  #lastRun: ScheduledRunRecord | null = null;
  /** Ends of runs that are being waited for, and what is being stored. */
  #saving: Promise<void> | undefined;
  #isDirty = false;
  /** Requests that wait until something is stored, and are not to wait for a store that is away. */
  readonly #waiting = new Set<(reason: RefusedError) => void>();
  /** How often it was paused or resumed here, and how much of that is stored. */
  #decisions = { made: 0, stored: 0 };
  /** The same, counting what was heard of. */
  #changes = 0;

  constructor(
    document: LoadedDocument,
    stored: StoredSchedule | undefined,
    services: EntryServices,
  ) {
    this.name = document.name;
    this.#document = document;
    this.#services = services;
    this.#env = { ...services.env, log: withName(services.env.log, document.name) };
    this.#stored = stored;
    this.#paused = stored?.paused ?? null;
    this.#lastRun = stored?.last_run ?? null;
    this.#ended = stored?.ended ?? null;
    if (stored !== undefined && this.#beginsAnew(stored.cron)) this.#beginAnew();
    else this.#begin(stored === undefined ? undefined : progressOf(stored, cronOf(document)));
  }

  /** The document as it is now; what was there before it goes on where it can. */
  change(document: LoadedDocument): void {
    const before = this.#document;
    this.#document = document;
    if (document.read === undefined) {
      this.#env.log.error('the document of a schedule cannot be used', {
        problem: document.problem ?? '',
      });
      this.#schedulerStop.abort();
      this.#scheduler = undefined;
      return;
    }
    if (before.read !== undefined && this.#beginsAnew(cronOf(before))) {
      this.#beginAnew();
      return;
    }
    if (this.#ended !== null) return;
    const { read } = document;
    if (this.#scheduler === undefined)
      this.#begin(
        this.#stored === undefined ? undefined : progressOf(this.#stored, cronOf(document)),
      );
    else void this.#scheduler.reload(() => Promise.resolve(this.#job(read)));
  }

  async pause({ principal }: Caller): Promise<void> {
    this.#refuseInvalid();
    this.#decide(this.#paused ?? { at: this.#env.clock.now().toISOString(), by: principal });
    await this.#storeDecision();
  }

  #decide(paused: StoredSchedule['paused']): void {
    this.#decisions.made += 1;
    this.#take(paused);
  }

  #take(paused: StoredSchedule['paused']): void {
    this.#changes += 1;
    this.#paused = paused;
    if (paused !== null) this.#scheduler?.pause();
    else this.#goOn();
  }

  /** The server that was told so has stored it. */
  hearPause(paused: StoredSchedule['paused']): void {
    if (this.#document.read !== undefined) this.#take(paused);
  }

  /**
   * To be called before the store is asked; what it gives takes what was stored. Another server may
   * have been told to pause it while this one was cut off or frozen, and heard nothing.
   */
  lookAtPause(): (found: StoredSchedule | undefined) => void {
    const { made, stored } = this.#decisions;
    const before = made === stored ? this.#changes : undefined;
    return (found) => {
      if (found === undefined || before !== this.#changes) return;
      if (!jsonEqual(found.paused, this.#paused)) this.hearPause(found.paused);
    };
  }

  /** One that has ended begins again. */
  async resume(): Promise<void> {
    this.#refuseInvalid();
    this.#decide(null);
    await this.#storeDecision();
  }

  #goOn(): void {
    if (this.#ended === null) this.#scheduler?.resume();
    else this.#beginAnew();
  }

  /** One that has ended begins again where its times are other ones than those that it had then. */
  #beginsAnew(cronBefore: string): boolean {
    const { read } = this.#document;
    return this.#ended !== null && read !== undefined && cronBefore !== cronOf(this.#document);
  }

  #beginAnew(): void {
    this.#ended = null;
    this.#begin({ ...ANEW, isPaused: this.#paused !== null });
  }

  /** Rejects with `RefusedError` while a run of it is active. */
  async runNow(caller: Caller): Promise<SubmissionReceipt> {
    this.#refuseInvalid();
    const submitted = Promise.withResolvers<SubmissionReceipt>();
    const tick = this.#env.clock.now();
    const run: Job['run'] = async (_tick, _signals, onAccepted) => {
      try {
        const receipt = await this.#submit(tick, caller, true);
        submitted.resolve(receipt);
        return await this.#followed(started(receipt, tick, true), onAccepted);
      } catch (error) {
        submitted.reject(error);
        throw error;
      }
    };
    if (this.#ended !== null) void run(tick, NO_SIGNALS, () => {}).catch(() => {});
    else if (this.#scheduler?.runNow(run) !== true)
      throw new RefusedError('conflict', `a run of the schedule \`${this.name}\` is active`, {
        hint: 'wait for its end, or cancel it',
      });
    return submitted.promise;
  }

  view(): ScheduleView {
    const { read, source, problem } = this.#document;
    const progress = this.#scheduler?.progress;
    const { spec } = read ?? {};
    return {
      name: this.name,
      source,
      state:
        read === undefined
          ? 'invalid'
          : this.#ended === null
            ? this.#paused === null
              ? 'active'
              : 'paused'
            : 'ended',
      pipeline: read?.pipeline ?? null,
      cron: spec?.cron ?? null,
      timezone: spec?.timezone ?? null,
      overlap_policy: spec?.overlap_policy ?? null,
      next_run: this.#ended === null ? (this.#scheduler?.next?.toISOString() ?? null) : null,
      running: this.#scheduler?.isRunning ?? false,
      waiting: progress?.waiting?.toISOString() ?? null,
      last_run: shownRun(this.#lastRun),
      successes: progress?.successes ?? this.#stored?.successes ?? 0,
      consecutive_failures: progress?.failures ?? this.#stored?.failures ?? 0,
      paused: this.#paused,
      reason: problem ?? this.#ended?.reason ?? null,
    };
  }

  /** Starts nothing any more; runs go on. */
  close(): void {
    this.#stop.abort();
    this.#schedulerStop.abort();
  }

  /** Resolves when everything that is known is stored. */
  async settled(): Promise<void> {
    while (this.#saving !== undefined) await this.#saving;
  }

  #begin(progress: Progress | undefined): void {
    const { read } = this.#document;
    if (read === undefined || this.#ended !== null) return;
    this.#schedulerStop = new AbortController();
    const { signal } = this.#schedulerStop;
    const active = this.#active(signal);
    const scheduler = new Scheduler({
      env: this.#env,
      job: this.#job(read),
      signal,
      leavesRuns: true,
      onProgress: () => void this.#save(),
      ...(active === undefined ? {} : { active }),
      ...(progress === undefined ? {} : { progress }),
    });
    this.#scheduler = scheduler;
    void this.#watch(scheduler, signal);
  }

  async #watch(scheduler: Scheduler, signal: AbortSignal): Promise<void> {
    const { ok, reason } = await scheduler.run();
    if (signal.aborted) return;
    this.#ended = { ok, reason };
    const log = this.#env.log.at('headgate::schedule');
    if (ok) log.info('the schedule has ended', { reason });
    else log.error('the schedule has ended', { reason });
    await this.#save();
  }

  /** The run that the server before this one had started. */
  #active(signal: AbortSignal) {
    const last = this.#lastRun;
    if (last === null || last.status !== 'queued') return undefined;
    const { tick, is_manual: isManual = false } = last;
    return { tick: new Date(tick), isManual, outcome: () => this.#outcome(last, signal) };
  }

  #job({ pipeline, spec, cooldowns }: UsableSchedule): Job {
    const cron = parseCron(spec.cron, spec.timezone);
    assert(!('fault' in cron), 'the block was checked');
    return {
      pipeline,
      // The run is submitted with its time limit.
      spec: { ...spec, run_timeout_secs: undefined },
      cron,
      run: (tick, _signals, onAccepted) => this.#runTick(tick, pipeline, onAccepted),
      cooldownMs: (outcome) => cooldownOf(cooldowns, outcome) * 1000,
      giveUp: (reason) => this.#services.giveUp(this.#document, reason),
    };
  }

  async #runTick(
    tick: Date,
    pipeline: string,
    onAccepted: () => void,
  ): Promise<RunOutcome | undefined> {
    await this.#lookBeforeTick();
    if (this.#paused !== null) return undefined;
    const caller = { principal: `schedule:${this.name}`, role: 'operator' } as const;
    const submitted = await this.#submit(tick, caller, false).catch((error: unknown) => {
      if (isKnown(error)) return undefined;
      this.#noteRefused(tick, error);
      throw error;
    });
    if (submitted !== undefined) return this.#followed(started(submitted, tick, false), onAccepted);
    const at = tick.toISOString();
    this.#env.log.at('headgate::schedule').info('a tick was submitted before', { tick: at });
    const finished_at = this.#env.clock.now().toISOString();
    return outcomeOfEnd({ status: 'completed', finished_at, error: null, outcome: null }, pipeline);
  }

  /** A store that does not answer takes no run either. */
  async #lookBeforeTick(): Promise<void> {
    const take = this.lookAtPause();
    take(await this.#services.store.getSchedule(this.name).catch(() => undefined));
  }

  #submit(tick: Date, caller: Caller, isManual: boolean): Promise<SubmissionReceipt> {
    return this.#whileOpen(this.#services.submit(this.#document, { tick, caller, isManual }));
  }

  #followed(run: ScheduledRunRecord, onAccepted: () => void): Promise<RunOutcome> {
    this.#lastRun = run;
    onAccepted();
    return this.#outcome(run, this.#stop.signal);
  }

  async #outcome(run: ScheduledRunRecord, signal: AbortSignal): Promise<RunOutcome> {
    assert(run.run_id !== null, 'a run that is followed was submitted');
    const end = await this.#whileOpen(this.#services.ended(run.run_id, signal));
    const { status, finished_at, error } = end;
    this.#lastRun = { ...run, status, finished_at, error };
    return outcomeOfEnd(end, this.#document.read?.pipeline ?? this.name);
  }

  /**
   * A server that is closed does not know what became of a run, which is no failure: it says nothing
   * more, and the next one finds the tick or the run in what is stored.
   */
  async #whileOpen<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (this.#stop.signal.aborted) return new Promise<never>(() => {});
      throw error;
    }
  }

  #noteRefused(tick: Date, error: unknown): void {
    this.#lastRun = {
      run_id: null,
      tick: tick.toISOString(),
      status: 'failed',
      finished_at: this.#env.clock.now().toISOString(),
      error: messageOf(error),
    };
  }

  #refuseInvalid(): void {
    const { problem } = this.#document;
    if (problem === undefined) return;
    throw new RefusedError('conflict', `the document of the schedule cannot be used: ${problem}`, {
      hint: 'mend the document first',
    });
  }

  #state(): StoredSchedule {
    const progress = this.#scheduler?.progress;
    const before = this.#stored;
    const iso = (at: Date | undefined): string | null => at?.toISOString() ?? null;
    return {
      name: this.name,
      cron: cronOf(this.#document),
      handled: progress === undefined ? (before?.handled ?? null) : iso(progress.handled),
      starting: progress === undefined ? (before?.starting ?? null) : iso(progress.starting),
      waiting: progress === undefined ? (before?.waiting ?? null) : iso(progress.waiting),
      successes: progress?.successes ?? before?.successes ?? 0,
      failures: progress?.failures ?? before?.failures ?? 0,
      paused: this.#paused,
      ended: this.#ended,
      last_run: this.#lastRun,
    };
  }

  /** Rejects with `RefusedError` where the store does not answer; then it is tried again without. */
  async #storeDecision(): Promise<void> {
    const refused = Promise.withResolvers<never>();
    this.#waiting.add(refused.reject);
    try {
      await Promise.race([this.#save(), refused.promise]);
    } finally {
      this.#waiting.delete(refused.reject);
    }
  }

  /** One write after the other; what changes meanwhile goes with the next. */
  #save(): Promise<void> {
    this.#isDirty = true;
    this.#saving ??= this.#write().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #write(): Promise<void> {
    while (this.#isDirty) {
      this.#isDirty = false;
      this.#stored = this.#state();
      try {
        await this.#put(this.#stored);
      } catch (error) {
        this.#env.log.warn('the state of a schedule could not be stored', {
          error: messageOf(error),
        });
        for (const refuse of this.#waiting) refuse(notStored(error));
        if (this.#stop.signal.aborted) return;
        this.#isDirty = true;
        await this.#env.clock.sleep(RETRY_SAVE_MS, this.#stop.signal);
      }
    }
  }

  async #put(schedule: StoredSchedule): Promise<void> {
    const { store } = this.#services;
    const { made, stored } = this.#decisions;
    if (made === stored) {
      const take = this.lookAtPause();
      take({ ...schedule, paused: await store.putProgress(schedule) });
    } else {
      await store.putSchedule(schedule);
      this.#decisions.stored = made;
    }
  }
}

function started({ run_id }: SubmissionReceipt, tick: Date, isManual: boolean): ScheduledRunRecord {
  return {
    run_id,
    tick: tick.toISOString(),
    status: 'queued',
    finished_at: null,
    error: null,
    ...(isManual ? { is_manual: true } : {}),
  };
}

function shownRun(run: ScheduledRunRecord | null): ScheduleView['last_run'] {
  if (run === null) return null;
  const { is_manual: _, ...shown } = run;
  return shown;
}

const NO_SIGNALS = { stop: new AbortController().signal, kill: new AbortController().signal };
const ANEW: Progress = {
  handled: undefined,
  starting: undefined,
  waiting: undefined,
  successes: 0,
  failures: 0,
  isPaused: false,
};

/**
 * The key of the tick belongs to a run of the document as it was, or to one that is gone: the server
 * before submitted it, and did not live to store that.
 */
function isKnown(error: unknown): boolean {
  return error instanceof RefusedError && (error.code === 'conflict' || error.code === 'not_found');
}

/** Ticks that are known are good for the cron expression and time zone that they came from. */
function cronOf({ read }: LoadedDocument): string {
  return read === undefined ? '' : `${read.spec.cron} ${read.spec.timezone}`;
}

function progressOf(stored: StoredSchedule, cron: string): Progress {
  const date = (text: string | null): Date | undefined =>
    text === null ? undefined : new Date(text);
  return {
    handled: stored.cron === cron ? date(stored.handled) : undefined,
    starting: date(stored.starting),
    waiting: date(stored.waiting),
    successes: stored.successes,
    failures: stored.failures,
    isPaused: stored.paused !== null,
  };
}

/** Lines of many schedules say of which they are. */
function withName(log: Log, schedule: string): Log {
  const add = (fields: LogFields | undefined): LogFields => ({ schedule, ...fields });
  return {
    level: log.level,
    trace: (message, fields) => log.trace(message, add(fields)),
    debug: (message, fields) => log.debug(message, add(fields)),
    info: (message, fields) => log.info(message, add(fields)),
    warn: (message, fields) => log.warn(message, add(fields)),
    error: (message, fields) => log.error(message, add(fields)),
    at: (target) => withName(log.at(target), schedule),
  };
}

function notStored(cause: unknown): RefusedError {
  return new RefusedError('unavailable', 'the history store does not answer', {
    hint: 'this holds until the server stops, and is stored as soon as the history answers',
    cause,
  });
}
