import { randomUUID } from 'node:crypto';
import type { History, Instance, StoredRun } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { doctorFailure, type DoctorReport } from '../../wire/doctor.ts';
import type { OutputNews, RunOutcome } from '../../wire/outcome.ts';
import type { Movement } from '../../wire/catalog.ts';
import type { RunPage, RunRecord, Submission, SubmissionReceipt } from '../../wire/run.ts';
import { actionOf, createAudit, type Audit } from './audit.ts';
import type { CallbackRules } from '../callbacks/callback-rules.ts';
import { CallbackSender } from '../callbacks/callback-sender.ts';
import type { EndListener } from './ended-run.ts';
import type { RunExecutor } from '../worker/executor.ts';
import { HistoryHealth } from './history-health.ts';
import { thisProcess } from './instance.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { LiveRun, type LiveRunServices } from './live-run.ts';
import { LogWriter } from '../logs/log-writer.ts';
import { idempotencyHits, runsInFlight, runsQueued } from './metrics.ts';
import { newRun, type NewRun } from './new-run.ts';
import type { Prepare, Prepared } from './prepared.ts';
import { RunQueue, type Reservation } from './queue.ts';
import { presentRun } from './record.ts';
import { keepRetention } from './retention.ts';
import { RunLogs } from '../logs/run-log.ts';
import type { ApplyMetrics } from './run-meter.ts';
import type { Caller, How, LogEvent, Readiness, RunQuery, Runs, StoredLog } from './runs.ts';
import { checkSettings } from './submission.ts';

/** Probes a plan before it runs; failed probes are a report, not an error. */
export type Preflight = (prepared: Prepared, signal: AbortSignal) => Promise<DoctorReport>;

export interface RunLimits {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  readonly retainTerminalSecs: number;
  /** 0 turns de-duplication off. */
  readonly idempotencySecs: number;
  /** 0: log lines are not stored. */
  readonly logRetentionSecs: number;
  readonly maxLogLinesPerRun: number;
  readonly leaseTtlSecs: number;
  /** How long a run that is asked to stop may flush. */
  readonly stopGraceMs: number;
}

export interface RunServiceOptions {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'metrics' | 'redactor' | 'fetch'>;
  readonly history: History;
  readonly executor: RunExecutor;
  readonly prepare: Prepare;
  readonly doctor: Preflight;
  /** Takes what workers measured. */
  readonly applyMetrics: ApplyMetrics;
  /** Takes what runs moved, before their end is recorded; returns at once. */
  readonly onMoved?: (movements: readonly Movement[]) => void;
  /**
   * Takes files of this machine as soon as a run writes them; what it stores is in the history
   * before what `onOutcome` does.
   */
  readonly onOpened?: (runId: string, news: OutputNews) => void;
  readonly callbacks: CallbackRules;
  /** Also told of every end. */
  readonly onEnd?: EndListener;
  /**
   * Takes what runs came to, as soon as that is on record; what it stores is in the history before
   * that is closed.
   */
  readonly onOutcome?: (runId: string, outcome: RunOutcome) => void;
  readonly limits: RunLimits;
  /** Whoever started the server chose how much is logged: documents have no say in it. */
  readonly isLevelChosen?: boolean;
  /** Address of this server, for the list of instances. */
  readonly listen?: string;
}

export interface RunService extends Runs {
  /**
   * Registers this instance, fails orphans and begins to look after leases and retention. Call
   * once, before `submit`.
   */
  start(): Promise<void>;
  /** The audit log, for the routes. */
  readonly audit: Audit;
}

export function createRuns(options: RunServiceOptions): RunService {
  return new Service(options);
}

class Service implements RunService {
  readonly audit: Audit;
  readonly #options: RunServiceOptions;
  readonly #health: HistoryHealth;
  readonly #logs: RunLogs;
  readonly #writer: LogWriter | undefined;
  readonly #callbacks: CallbackSender;
  readonly #queue: RunQueue<LiveRun>;
  /** Runs of this instance that are not recorded as ended yet. */
  readonly #live = new Map<string, LiveRun>();
  readonly #liveServices: LiveRunServices;
  readonly #self: Instance;
  readonly #closing = new AbortController();
  readonly #giveUp = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #draining = false;
  /** The grace of the shutdown is over. */
  #stopped = false;
  /** Ends of runs that are being recorded. */
  readonly #endings = new Set<Promise<void>>();

  constructor(options: RunServiceOptions) {
    const { env, history, executor, limits, applyMetrics } = options;
    this.#options = options;
    this.#health = new HistoryHealth(history, env);
    this.audit = createAudit(this.#health.audit, env);
    this.#logs = new RunLogs(env.clock);
    const storesLog = history.persistent && limits.logRetentionSecs > 0;
    this.#writer = storesLog
      ? new LogWriter({ store: history, env, maxLinesPerRun: limits.maxLogLinesPerRun })
      : undefined;
    this.#callbacks = new CallbackSender(env);
    this.#self = selfOf(options);
    this.#queue = new RunQueue(
      { slots: limits.maxConcurrent, capacity: limits.maxQueued, onChange: gauges(env) },
      (run) => this.#execute(run),
    );
    this.#liveServices = {
      env,
      executor,
      applyMetrics,
      onMoved: options.onMoved,
      onOpened: options.onOpened,
      health: this.#health,
      logs: this.#logs,
      writer: this.#writer,
      stopGraceMs: limits.stopGraceMs,
      giveUp: this.#giveUp.signal,
      onEnd: ({ callback, fence }, outcome, ended) => {
        if (callback !== undefined) this.#callbacks.send(callback, this.get(fence.run_id));
        if (outcome !== undefined) options.onOutcome?.(fence.run_id, outcome);
        if (ended !== undefined) options.onEnd?.ended(ended);
      },
    };
  }

  async start(): Promise<void> {
    const { env, history, limits } = this.#options;
    const keeper = new LeaseKeeper({
      env,
      history,
      health: this.#health,
      self: this.#self,
      ttlSecs: limits.leaseTtlSecs,
      live: this.#live,
      inFlight: () => this.#queue.inFlight,
    });
    await keeper.begin();
    const { signal } = this.#closing;
    this.#loops = Promise.all([
      keeper.keep(signal),
      keepRetention({ env, history, limits, signal }),
    ]);
  }

  async submit(submission: Submission, caller: Caller, how: How = {}): Promise<SubmissionReceipt> {
    this.#refuseWhenDraining();
    const prepared = await this.#options.prepare(submission);
    checkSettings(submission, this.#options.callbacks);
    const place = this.#queue.reserve();
    try {
      const report = submission.doctor_first === true ? await this.#preflight(prepared) : null;
      const fresh = this.#newRun(submission, prepared, { report, how });
      const repeated = await this.#admit(fresh, caller);
      if (repeated === undefined) this.#enter(fresh, submission, place);
      else place.release();
      return receiptOf(repeated ?? fresh.run);
    } catch (error) {
      place.release();
      throw error;
    }
  }

  async get(runId: string): Promise<RunRecord> {
    return this.#present(await this.#find(runId));
  }

  async list(query: RunQuery): Promise<RunPage> {
    const { since, until, ...rest } = query;
    const stored = {
      ...rest,
      ...(since === undefined ? {} : { since: since.toISOString() }),
      ...(until === undefined ? {} : { until: until.toISOString() }),
    };
    const page = await this.#health.ask((history) => history.listRuns(stored));
    return {
      runs: page.runs.map((run) => this.#present(run)),
      next_cursor: page.more ? (page.runs.at(-1)?.run_id ?? null) : null,
    };
  }

  async cancel(runId: string, caller: Caller): Promise<'requested' | 'noop'> {
    const wish = await this.#health.ask((history) => history.requestCancel(runId));
    if (wish === 'missing') throw unknownRun();
    if (wish === 'terminal') return 'noop';
    const live = this.#live.get(runId);
    if (live !== undefined) await this.#stop(live, 'cancel');
    await this.audit.record(actionOf(caller, 'run.cancel', runId));
    return 'requested';
  }

  async delete(runId: string, caller: Caller): Promise<void> {
    const result = await this.#health.ask((history) => history.deleteRun(runId));
    if (result === 'missing') throw unknownRun();
    if (result === 'in_flight') {
      throw new RefusedError('conflict', 'the run has not ended; only ended runs can be deleted', {
        hint: 'cancel it first',
      });
    }
    await this.audit.record(actionOf(caller, 'run.delete', runId));
  }

  async followLog(runId: string, signal: AbortSignal): Promise<AsyncIterable<LogEvent>> {
    await this.#find(runId);
    return this.#logs.get(runId)?.follow(signal) ?? onlyEnd();
  }

  async readLog(
    runId: string,
    range: { readonly after: number | undefined; readonly limit: number },
  ): Promise<StoredLog> {
    await this.#find(runId);
    if (this.#options.limits.logRetentionSecs === 0) return { lines: [], truncated: false };
    return this.#health.ask((history) =>
      history.readLog(runId, { after: range.after ?? -1, limit: range.limit }),
    );
  }

  async readiness(): Promise<Readiness> {
    return {
      historyOk: await this.#health.probe(),
      queueOk: !this.#queue.full,
      draining: this.#draining,
      instances: 0,
    };
  }

  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const { clock, log } = this.#options.env;
    const over = new AbortController();
    void clock.sleep(graceMs, over.signal).then(() => this.#stopAll(over.signal));
    await this.#queue.idle();
    await Promise.all(this.#endings);
    await Promise.all([
      this.#callbacks.settle(this.#giveUp.signal),
      this.#options.onEnd?.settle(this.#giveUp.signal),
    ]);
    over.abort();
    this.#closing.abort();
    await this.#loops;
    await this.#writer?.flush();
    await this.#options.history.removeInstance(this.#self.instance_id).catch((error: unknown) => {
      log.warn('this instance could not be signed off', { error: messageOf(error) });
    });
  }

  #refuseWhenDraining(): void {
    if (this.#draining)
      throw new RefusedError('unavailable', 'the server is shutting down and takes no more runs');
  }

  async #preflight(prepared: Prepared): Promise<DoctorReport> {
    const report = await this.#options.doctor(prepared, this.#closing.signal);
    const failure = doctorFailure(report);
    if (failure !== undefined)
      throw new RefusedError('unprocessable', failure, { details: report });
    return report;
  }

  #newRun(
    submission: Submission,
    prepared: Prepared,
    { report, how }: { report: DoctorReport | null; how: How },
  ): NewRun {
    const { env, limits, isLevelChosen } = this.#options;
    return newRun(submission, prepared, report, {
      env,
      isLevelChosen,
      owner: this.#self.instance_id,
      how,
      ...limits,
    });
  }

  /** Stores the run; or gives the run that this submission repeats. */
  async #admit(fresh: NewRun, caller: Caller): Promise<StoredRun | undefined> {
    const { run, claim } = fresh;
    const audit = this.audit.complete({
      ...actionOf(caller, 'run.submit', run.run_id),
      config_fingerprint: fresh.configFingerprint,
    });
    const admission = await this.#health.ask((history) =>
      history.admit(run, claim === undefined ? { audit } : { audit, claim }),
    );
    switch (admission.type) {
      case 'admitted':
        return undefined;
      case 'mismatch':
        throw new RefusedError(
          'conflict',
          'the idempotency key was used before for another request',
          { hint: 'use a new key' },
        );
      case 'replay':
        if (admission.run === undefined)
          throw new RefusedError('not_found', 'the run of this idempotency key is gone');
        this.#options.env.metrics.inc(idempotencyHits, {});
        return admission.run;
      default:
        return admission satisfies never;
    }
  }

  #enter({ run, ticket, plan }: NewRun, submission: Submission, place: Reservation<LiveRun>): void {
    for (const { path, message } of plan.warnings)
      this.#options.env.log.warn(message, { run_id: run.run_id, path });
    const callback = submission.callback ?? undefined;
    const told = this.#options.onEnd?.wants(plan) === true ? plan : undefined;
    const live = new LiveRun(
      { ticket, plan: told, callback, log: this.#logs.open(run.run_id) },
      this.#liveServices,
    );
    this.#live.set(run.run_id, live);
    // The grace was over before the run was stored: it is recorded as ended by the shutdown.
    if (this.#stopped) live.stop('shutdown');
    place.enter(live);
  }

  async #execute(run: LiveRun): Promise<void> {
    const end = await run.execute();
    // The slot is free while the end is being recorded: the next run's start shares the same
    // commit.
    void this.#settle(run, run.record(end));
  }

  #settle(run: LiveRun, recorded: Promise<void>): Promise<void> {
    const ending = recorded.finally(() => {
      this.#live.delete(run.fence.run_id);
      this.#endings.delete(ending);
    });
    this.#endings.add(ending);
    return ending;
  }

  /** A waiting run ends at once; an executing one when it has flushed. */
  #stop(run: LiveRun, cause: 'cancel' | 'shutdown'): Promise<void> {
    if (this.#queue.remove(run)) return this.#settle(run, run.endUnstarted(cause));
    run.stop(cause);
    return Promise.resolve();
  }

  async #stopAll(over: AbortSignal): Promise<void> {
    if (over.aborted) return;
    const { env, limits } = this.#options;
    this.#stopped = true;
    env.log.warn('the grace is over: unfinished runs are stopped', { runs: this.#live.size });
    for (const run of this.#live.values()) void this.#stop(run, 'shutdown');
    await env.clock.sleep(limits.stopGraceMs, over);
    this.#giveUp.abort();
  }

  async #find(runId: string): Promise<StoredRun> {
    const run = await this.#health.ask((history) => history.getRun(runId));
    if (run === undefined) throw unknownRun();
    return run;
  }

  #present(run: StoredRun): RunRecord {
    const { clock, redactor } = this.#options.env;
    return presentRun(run, redactor, clock.now(), this.#live.get(run.run_id));
  }
}

function selfOf(options: RunServiceOptions): Instance {
  const now = options.env.clock.now().toISOString();
  return {
    instance_id: randomUUID(),
    ...thisProcess(),
    listen: options.listen ?? null,
    started_at: now,
    seen_at: now,
    max_concurrent: options.limits.maxConcurrent,
    in_flight: 0,
  };
}

function gauges(env: Pick<Env, 'metrics'>): (queued: number, inFlight: number) => void {
  env.metrics.set(runsQueued, {}, 0);
  env.metrics.set(runsInFlight, {}, 0);
  return (queued, inFlight) => {
    env.metrics.set(runsQueued, {}, queued);
    env.metrics.set(runsInFlight, {}, inFlight);
  };
}

function receiptOf(run: StoredRun): SubmissionReceipt {
  return { run_id: run.run_id, status: run.status, submitted_at: run.submitted_at };
}

function unknownRun(): RefusedError {
  return new RefusedError('not_found', 'there is no such run');
}

async function* onlyEnd(): AsyncGenerator<LogEvent, void, undefined> {
  yield { type: 'end' };
}
