/** Runs a document at the times of its cron expression, one run at a time. */
import { renderNow } from '../../document/tokens/now-tokens.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { MetricDefinition } from '../../lib/metrics/metrics.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { Job } from './job.ts';
import * as metrics from './metrics.ts';
import { ScheduledRun, type Ended } from './scheduled-run.ts';
import { dueAt, tickFrom } from './ticks.ts';

/**
 * The clock is looked at this often at least: it may have been set, or the machine may have slept.
 */
const LONGEST_NAP_MS = 30_000;

export interface SchedulerOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly job: Job;
  /** Ends the scheduler: no further run starts, and the active one gets its grace period. */
  readonly signal: AbortSignal;
  /** Where an earlier scheduler of the document stopped; without it this one begins now. */
  readonly progress?: Progress;
  /** Hears of every change of the progress. */
  readonly onProgress?: (progress: Progress) => void;
  /** A run that an earlier scheduler started, and that has not ended. */
  readonly active?: ActiveRun;
  /** Runs go on without the scheduler when it is ended. */
  readonly leavesRuns?: boolean;
}

/** What the next scheduler of a document has to know. */
export interface Progress {
  /** Ticks up to this moment are done with: run, skipped, or among those below. */
  readonly handled: Date | undefined;
  /** The tick of a run that is not stored yet. */
  readonly starting: Date | undefined;
  /** The tick that waits for the active run. */
  readonly waiting: Date | undefined;
  readonly successes: number;
  readonly failures: number;
  /** Ticks start nothing. */
  readonly isPaused: boolean;
}

export interface ActiveRun {
  readonly tick: Date;
  /** Somebody asked for it: it does not count. */
  readonly isManual: boolean;
  readonly outcome: () => Promise<RunOutcome>;
}

/** Why it ended; `ok` decides the exit code. */
export interface SchedulerEnd {
  readonly ok: boolean;
  readonly reason: string;
  /** So many runs failed in a row that it gives up. */
  readonly isStuck?: true;
}

export class Scheduler {
  readonly #env: SchedulerOptions['env'];
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #options: SchedulerOptions;
  #job: Job;
  #next: Date | undefined;
  #running: ScheduledRun | undefined;
  /** The one tick that waits for the active run (`overlap_policy: queue`). */
  #waiting: Date | undefined;
  #handled: Date | undefined;
  #isPaused = false;
  #successes = 0;
  #failures = 0;
  #end: SchedulerEnd | undefined;
  #nap = new AbortController();
  #reloading: Promise<void> = Promise.resolve();

  constructor(options: SchedulerOptions) {
    const { env, job, signal } = options;
    this.#options = options;
    this.#env = env;
    this.#log = env.log.at('headgate::schedule');
    this.#job = job;
    this.#signal = signal;
  }

  /** Resolves when the scheduler and its runs have ended. */
  async run(): Promise<SchedulerEnd> {
    const { clock } = this.#env;
    const wake = (): void => this.#wake();
    this.#signal.addEventListener('abort', wake);
    this.#begin();
    while (!this.#isOver()) {
      this.#look(clock.now());
      if (this.#isOver()) break;
      await this.#sleep();
    }
    this.#signal.removeEventListener('abort', wake);
    if (this.#options.leavesRuns !== true) this.#waiting = undefined;
    if (this.#options.leavesRuns !== true)
      await this.#running?.drain(this.#job.spec.shutdown_grace_secs * 1000);
    if (this.#end?.isStuck === true) await this.#job.giveUp?.(this.#end.reason);
    return this.#end ?? { ok: true, reason: 'stopped' };
  }

  /**
   * Takes what `load` gives for all runs to come; when it fails everything stays as it is. One
   * reload comes after the other.
   */
  reload(load: () => Promise<Job>): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#take(load));
    return this.#reloading;
  }

  /** Ticks start nothing until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#waiting = undefined;
    this.#changed();
  }

  /** Goes on with the next tick. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#plan(this.#job.cron.next(this.#env.clock.now()));
    this.#handled = this.#env.clock.now();
    this.#changed();
    this.#wake();
  }

  /** Runs the document now, whether it is paused or not. False when a run is active. */
  runNow(run: Job['run']): boolean {
    if (this.#running !== undefined || this.#isOver()) return false;
    this.#start(this.#env.clock.now(), { ...this.#job, run }, true);
    return true;
  }

  /** When the next tick comes; undefined when none does. */
  get next(): Date | undefined {
    return this.#isPaused || this.#isOver() ? undefined : this.#next;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get progress(): Progress {
    const run = this.#running;
    const isStarting = run !== undefined && !run.isManual && !run.isAccepted;
    return {
      handled: this.#handled,
      starting: isStarting ? run.tick : undefined,
      waiting: this.#waiting,
      successes: this.#successes,
      failures: this.#failures,
      isPaused: this.#isPaused,
    };
  }

  #changed(): void {
    this.#options.onProgress?.(this.progress);
  }

  async #take(load: () => Promise<Job>): Promise<void> {
    let job: Job;
    try {
      job = await load();
    } catch (error) {
      this.#count(metrics.scheduleReloads, { outcome: 'error' });
      this.#log.error('the document cannot be reloaded; the previous one stays in use', {
        error: messageOf(error),
      });
      return;
    }
    if (this.#isOver()) return;
    // A tick that came meanwhile is one of the document before.
    this.#look(this.#env.clock.now());
    this.#job = job;
    this.#count(metrics.scheduleReloads, { outcome: 'ok' });
    this.#plan(this.#job.cron.next(this.#env.clock.now()));
    this.#log.info('the document was reloaded', {
      cron: this.#job.spec.cron,
      timezone: this.#job.spec.timezone,
      next: this.#formatTime(this.#next),
    });
    this.#wake();
  }

  #begin(): void {
    const { cron, timezone, overlap_policy: overlap, start_immediately: atOnce } = this.#job.spec;
    const { progress } = this.#options;
    const now = this.#env.clock.now();
    this.#restore(progress, now);
    const next = this.#formatTime(this.#next);
    this.#log.info('schedule started', {
      pipeline: this.#job.pipeline,
      cron,
      timezone,
      overlap_policy: overlap,
      next,
    });
    this.#gauge(metrics.scheduledInFlight, 0);
    this.#gauge(metrics.consecutiveFailures, 0);
    const { active } = this.#options;
    if (active !== undefined) this.#goOnWith(active);
    else if (progress?.starting !== undefined) this.#start(progress.starting);
    else if (this.#waiting !== undefined) this.#startWaiting();
    else if (atOnce && progress === undefined) this.#start(now);
    this.#changed();
  }

  #restore(progress: Progress | undefined, now: Date): void {
    const {
      handled = now,
      waiting,
      successes = 0,
      failures = 0,
      isPaused = false,
    } = progress ?? {};
    this.#handled = handled;
    this.#plan(this.#job.cron.next(handled));
    this.#waiting = waiting;
    this.#successes = successes;
    this.#failures = failures;
    this.#isPaused = isPaused;
  }

  #goOnWith({ tick, isManual, outcome }: ActiveRun): void {
    const run: Job['run'] = (_tick, _signals, onAccepted) => {
      onAccepted();
      return outcome();
    };
    this.#start(tick, { ...this.#job, run }, isManual);
  }

  #isOver(): boolean {
    return this.#end !== undefined || this.#signal.aborted;
  }

  #plan(next: Date | undefined): void {
    this.#next = next;
    if (next !== undefined) this.#gauge(metrics.nextTick, next.getTime() / 1000);
  }

  #look(now: Date): void {
    this.#gauge(metrics.heartbeat, now.getTime() / 1000);
    const due = dueAt(now, this.#next, this.#job.cron);
    if (due.kind === 'none') return;
    this.#plan(due.next);
    this.#handled = due.kind === 'tick' ? due.at : now;
    if (this.#isPaused) return this.#changed();
    if (due.kind === 'missed') {
      this.#count(metrics.scheduleRuns, { outcome: 'skipped' });
      this.#log.warn('several ticks were missed; they are not run later', {
        since: this.#formatTime(due.first),
        next: this.#formatTime(due.next),
      });
    } else if (this.#running === undefined) this.#start(due.at);
    else this.#overlap(due.at, this.#running);
    this.#changed();
  }

  #overlap(tick: Date, running: ScheduledRun): void {
    const { overlap_policy: policy } = this.#job.spec;
    const about = { tick: this.#formatTime(tick), running_since: this.#formatTime(running.tick) };
    this.#count(metrics.scheduleOverlaps, { policy });
    if (policy === 'forbid') {
      this.#end = {
        ok: false,
        reason: 'a tick came while a run was active, which `overlap_policy: forbid` does not allow',
      };
      this.#log.error('a tick came while a run was active', about);
    } else if (policy === 'queue' && this.#waiting === undefined) {
      this.#waiting = tick;
      this.#log.info('a tick waits for the active run', about);
    } else {
      this.#count(metrics.scheduleRuns, { outcome: 'skipped' });
      this.#log.warn('a tick was dropped: a run is active', about);
    }
  }

  #start(tick: Date, job = this.#job, isManual = false): void {
    const now = this.#env.clock.now();
    const lateMs = Math.max(0, now.getTime() - tick.getTime());
    this.#gauge(metrics.lastStarted, now.getTime() / 1000);
    this.#gauge(metrics.scheduledInFlight, 1);
    this.#env.metrics.observe(metrics.lateness, this.#labels(), lateMs / 1000);
    this.#log.info('run started', {
      tick: this.#formatTime(tick),
      ...(lateMs < 1000 ? {} : { late_secs: Math.round(lateMs / 1000) }),
    });
    const onAccepted = (): void => this.#changed();
    const run = new ScheduledRun(job, tick, this.#env.clock, { isManual, onAccepted });
    this.#running = run;
    void run.ended.then((ended) => this.#finish(run, ended));
  }

  #finish(run: ScheduledRun, ended: Ended): void {
    this.#running = undefined;
    this.#gauge(metrics.scheduledInFlight, 0);
    if (ended.isSkipped === true) this.#count(metrics.scheduleRuns, { outcome: 'skipped' });
    else this.#note(run, ended);
    this.#startWaiting();
    this.#changed();
    this.#wake();
  }

  #note(run: ScheduledRun, { failure, outcome, cooldownMs, durationMs }: Ended): void {
    const now = this.#env.clock.now();
    this.#gauge(metrics.lastCompleted, now.getTime() / 1000);
    this.#gauge(metrics.lastDuration, durationMs / 1000);
    this.#count(metrics.scheduleRuns, { outcome: failure === undefined ? 'ok' : 'err' });
    if (run.isManual) this.#coolDown(now, cooldownMs);
    else if (failure === undefined) this.#succeeded();
    else this.#failed(now, cooldownMs);
    this.#gauge(metrics.consecutiveFailures, this.#failures);
    const about = {
      tick: this.#formatTime(run.tick),
      records_written: outcome?.records_written,
      duration_ms: durationMs,
    };
    const next = this.#isOver() ? {} : { next: this.#formatTime(this.#waiting ?? this.#next) };
    if (failure === undefined) this.#log.info('run completed', { ...about, ...next });
    else
      this.#log.error('run failed', {
        ...about,
        failures: this.#failures,
        error: failure,
        ...next,
      });
  }

  #startWaiting(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#isOver()) return;
    this.#waiting = undefined;
    this.#start(waiting);
  }

  #succeeded(): void {
    this.#failures = 0;
    this.#successes += 1;
    const { max_runs: most } = this.#job.spec;
    if (most !== undefined && this.#successes >= most)
      this.#end ??= { ok: true, reason: `${runs(this.#successes)} succeeded (\`max_runs\`)` };
  }

  #failed(now: Date, cooldownMs: number): void {
    this.#failures += 1;
    const { max_consecutive_failures: most, on_failure: then } = this.#job.spec;
    if (this.#signal.aborted) return;
    if (then === 'stop') this.#end ??= { ok: false, reason: 'a run failed (`on_failure: stop`)' };
    if (most !== undefined && this.#failures >= most)
      this.#end ??= {
        ok: false,
        reason: `${runs(this.#failures)} failed in a row (\`max_consecutive_failures\`)`,
        isStuck: true,
      };
    this.#coolDown(now, cooldownMs);
  }

  #coolDown(now: Date, cooldownMs: number): void {
    if (cooldownMs === 0 || this.#next === undefined) return;
    const earliest = new Date(now.getTime() + cooldownMs);
    if (this.#next >= earliest) return;
    this.#plan(tickFrom(earliest, this.#job.cron));
    // The scheduler after this one leaves the destination alone as well.
    this.#handled = new Date(earliest.getTime() - 1);
  }

  async #sleep(): Promise<void> {
    const { clock } = this.#env;
    const ms =
      this.#next === undefined ? LONGEST_NAP_MS : this.#next.getTime() - clock.now().getTime();
    await clock.sleep(Math.min(Math.max(ms, 0), LONGEST_NAP_MS), this.#nap.signal);
    if (this.#nap.signal.aborted) this.#nap = new AbortController();
  }

  #wake(): void {
    this.#nap.abort();
  }

  /** A moment as the clocks of the schedule show it. */
  #formatTime(at: Date | undefined): string | undefined {
    return at === undefined
      ? undefined
      : renderNow('iso', { date: at, zone: this.#job.spec.timezone });
  }

  #labels(): { readonly pipeline: string } {
    return { pipeline: this.#job.pipeline };
  }

  #gauge(metric: MetricDefinition, value: number): void {
    this.#env.metrics.set(metric, this.#labels(), value);
  }

  #count(metric: MetricDefinition, labels: Readonly<Record<string, string>>): void {
    this.#env.metrics.inc(metric, { ...this.#labels(), ...labels });
  }
}

function runs(count: number): string {
  return count === 1 ? '1 run' : `${count} runs`;
}
