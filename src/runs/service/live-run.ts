/** One run from its place in the queue to its final record. */
import type { RunFence } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Movement } from '../../wire/catalog.ts';
import type { OutputNews, Progress, RunOutcome } from '../../wire/outcome.ts';
import type { Callback } from '../../wire/run.ts';
import type { Plan } from '../../plan/plan.ts';
import type { EndedRun } from './ended-run.ts';
import type { RunEnd, RunExecutor, RunHandle, RunTicket } from '../worker/executor.ts';
import type { HistoryHealth } from './history-health.ts';
import type { LogWriter } from '../logs/log-writer.ts';
import { runsTotal } from './metrics.ts';
import { RunMeter, type ApplyMetrics } from './run-meter.ts';
import { endingOf, type StopCause } from './record.ts';
import type { RunLog, RunLogs } from '../logs/run-log.ts';

const LONGEST_SLEEP_MS = 86_400_000;
const UNSTARTED: RunEnd = { type: 'crashed', reason: 'it had not started yet' };

export interface LiveRunOptions {
  readonly ticket: RunTicket;
  /** When somebody wants to be told of the end. */
  readonly plan: Plan | undefined;
  readonly callback: Callback | undefined;
  readonly log: RunLog;
}

export interface LiveRunServices {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics' | 'redactor'>;
  readonly health: HistoryHealth;
  readonly executor: RunExecutor;
  readonly logs: RunLogs;
  readonly writer: LogWriter | undefined;
  readonly applyMetrics: ApplyMetrics;
  /** Takes what runs moved; returns at once. */
  readonly onMoved: ((movements: readonly Movement[]) => void) | undefined;
  /** Takes the files that a run writes from now on; returns at once. */
  readonly onOpened: ((runId: string, news: OutputNews) => void) | undefined;
  /** How long a run that is asked to stop may take to flush before its worker is killed. */
  readonly stopGraceMs: number;
  /** Fires when the service gives up recording. */
  readonly giveUp: AbortSignal;
  /** After the final record is durable; `ended` for whoever wants to hear of it with the plan. */
  readonly onEnd: (
    run: LiveRun,
    outcome: RunOutcome | undefined,
    ended: EndedRun | undefined,
  ) => void;
}

export class LiveRun {
  readonly ticket: RunTicket;
  readonly fence: RunFence;
  readonly callback: Callback | undefined;
  readonly #plan: Plan | undefined;
  readonly #log: RunLog;
  readonly #services: LiveRunServices;
  #startedAt: string | null = null;
  #progress: Progress | undefined;
  #handle: RunHandle | undefined;
  #stopped: StopCause | undefined;
  #closing = false;

  constructor(options: LiveRunOptions, services: LiveRunServices) {
    this.ticket = options.ticket;
    this.callback = options.callback;
    this.#plan = options.plan;
    this.#log = options.log;
    this.#services = services;
    const { runId, owner, attempt } = options.ticket;
    this.fence = { run_id: runId, owner, attempt };
  }

  get progress(): Progress | undefined {
    return this.#progress;
  }

  /** The outcome is known and being recorded: nothing can be stopped any more. */
  get closing(): boolean {
    return this.#closing;
  }

  /** The first cause counts. */
  stop(cause: StopCause): void {
    if (this.#stopped !== undefined || this.#closing) return;
    this.#stopped = cause;
    this.#handle?.stop(cause, this.#services.stopGraceMs);
  }

  /**
   * Takes the run over and executes it. Undefined when it is not ours to record (any more). Never
   * rejects.
   */
  async execute(): Promise<RunEnd | undefined> {
    const { env, health, giveUp } = this.#services;
    if (this.#stopped !== undefined) return UNSTARTED;
    const startedAt = env.clock.now().toISOString();
    try {
      const mine = await health.insist(
        (history) => history.startRun(this.fence, startedAt),
        giveUp,
      );
      if (mine) {
        this.#startedAt = startedAt;
        return await this.#execute();
      }
      env.log.warn('a run was not started: its record belongs to somebody else or has ended', {
        run_id: this.fence.run_id,
      });
    } catch (error) {
      env.log.error('a run could not be started', {
        run_id: this.fence.run_id,
        error: messageOf(error),
      });
    }
    return undefined;
  }

  /** Makes the end of the run durable and tells whoever waits for it. Never rejects. */
  async record(end: RunEnd | undefined): Promise<void> {
    try {
      if (end !== undefined) await this.#record(end);
    } catch (error) {
      this.#services.env.log.error('a run could not be recorded', {
        run_id: this.fence.run_id,
        error: messageOf(error),
      });
    } finally {
      this.#services.logs.end(this.fence.run_id);
      this.#services.writer?.forget(this.fence.run_id);
    }
  }

  /** Ends a run that never got a slot. */
  endUnstarted(cause: StopCause): Promise<void> {
    this.#stopped = cause;
    return this.record(UNSTARTED);
  }

  async #execute(): Promise<RunEnd> {
    const { executor, env, applyMetrics } = this.#services;
    const { timeoutSecs } = this.ticket;
    if (this.#stopped !== undefined) return UNSTARTED;
    const meter = new RunMeter(applyMetrics, this.ticket);
    const over = timeoutSecs === null ? undefined : new AbortController();
    const handle = executor.start(this.ticket, {
      begun: () => {
        if (timeoutSecs !== null && over !== undefined) void this.#expire(timeoutSecs, over.signal);
      },
      log: (lines) => this.#take(lines),
      metrics: (changes, definitions) => meter.apply(changes, definitions),
      progress: (progress) => {
        this.#progress = progress;
      },
      opened: (news) => this.#services.onOpened?.(this.fence.run_id, news),
      moved: (movements) => this.#services.onMoved?.(movements),
    });
    this.#handle = handle;
    const end = await handle.done;
    over?.abort();
    this.#closing = true;
    if (end.type === 'crashed') {
      meter.settle();
      const ts = env.clock.now().toISOString();
      const line = env.redactor
        .text(`ERROR headgate::runs: pipeline run ended abnormally: ${end.reason}`)
        .replaceAll(/[\r\n]+/g, ' ');
      this.#take([{ ts, level: 'ERROR', line }]);
    }
    return end;
  }

  async #expire(timeoutSecs: number, over: AbortSignal): Promise<void> {
    const { clock } = this.#services.env;
    const deadline = clock.elapsedMs() + timeoutSecs * 1000;
    // In parts: a timer of more than 24 days would fire at once.
    for (
      let left = timeoutSecs * 1000;
      left > 0 && !over.aborted;
      left = deadline - clock.elapsedMs()
    ) {
      await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), over);
    }
    if (!over.aborted) this.stop('timeout');
  }

  #take(lines: Parameters<RunLog['push']>[0]): void {
    this.#log.push(lines);
    this.#services.writer?.push(this.fence.run_id, lines);
  }

  async #record(end: RunEnd): Promise<void> {
    const { env, health, giveUp, writer } = this.#services;
    this.#closing = true;
    const { ending, reason } = endingOf(end, {
      stopped: this.#stopped,
      timeoutSecs: this.ticket.timeoutSecs,
      progress: this.#progress,
      finishedAt: env.clock.now().toISOString(),
    });
    const redacted = {
      ...ending,
      error: ending.error === null ? null : env.redactor.text(ending.error),
    };
    // Asked for in this order, and so stored in this order: whoever sees the end of a run can read
    // its log to the end.
    const flushed = writer?.flush();
    const recorded = await health.insist(
      (history) => history.finishRun(this.fence, redacted),
      giveUp,
    );
    await flushed;
    if (!recorded) {
      env.log.warn('a result was refused: the record belongs to somebody else or has ended', {
        run_id: this.fence.run_id,
      });
      return;
    }
    env.metrics.inc(runsTotal, { status: ending.status, reason });
    env.log.info('run ended', {
      run_id: this.fence.run_id,
      name: this.ticket.name,
      status: ending.status,
      reason,
    });
    const { runId } = this.ticket;
    const { status, error, finished_at: finishedAt } = redacted;
    const plan = this.#plan;
    const outcome = end.type === 'finished' ? end.outcome : undefined;
    this.#services.onEnd(
      this,
      outcome,
      plan && { runId, plan, status, startedAt: this.#startedAt, finishedAt, error, outcome },
    );
  }
}
