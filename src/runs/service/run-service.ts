/** The control plane's runs: submitted, listed, followed, cancelled, and drained at the end. */
import type { ClusterStore } from '../../history/cluster.ts';
import {
  NOBODY,
  type History,
  type Instance,
  type Repetition,
  type StoredRun,
} from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { doctorFailure, type DoctorReport } from '../../wire/doctor.ts';
import type { ClusterStatus } from '../../wire/cluster.ts';
import type { RunEvent, RunIdentity } from '../../wire/run-event.ts';
import type { RunPage, RunRecord, Submission, SubmissionReceipt } from '../../wire/run.ts';
import type { SubmittedDocument } from '../../wire/submission.ts';
import type { CallbackRules } from '../callbacks/callback-rules.ts';
import { CallbackSender } from '../callbacks/callback-sender.ts';
import { LogWriter } from '../logs/log-writer.ts';
import { LogFollower } from '../logs/follow-log.ts';
import { RunLogs, type RunLog } from '../logs/run-log.ts';
import { logListener } from '../logs/log-listener.ts';
import type { JobExecutor } from '../worker/executor.ts';
import { actionOf, createAudit, type Audit } from './audit.ts';
import { HistoryHealth } from './history-health.ts';
import { newInstance } from './instance.ts';
import { Cluster, type ClusterSettings } from '../cluster/cluster.ts';
import { refuseMixture } from '../cluster/mixture.ts';
import { refuseWithheld } from '../cluster/refuse-withheld.ts';
import { clusterEnabled } from '../cluster/metrics.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { LiveRuns } from './live-runs.ts';
import { idempotencyHits, queueGauges } from './metrics.ts';
import { boundOf, newRun, receiptOf, type NewRun, type Preparation } from './new-run.ts';
import {
  documentHash,
  submittedDocument,
  type BaseDocument,
  type Prepare,
  type PrepareInput,
} from './prepared.ts';
import { keepRetention } from './retention.ts';
import type { RunListener } from './run-listener.ts';
import { followAll } from './run-listeners.ts';
import { RunReader, unknownRun } from './run-reader.ts';
import { RunsInShards } from './runs-in-shards.ts';
import type {
  Caller,
  How,
  LogEvent,
  Readiness,
  RunQuery,
  Runs,
  StoredLog,
  SubmittedRun,
  SubmittingAction,
} from './runs.ts';
import { SubmissionWriter } from './stored-submission.ts';
import { checkSettings, logWarnings } from './submission.ts';
import type { RunOutcome } from '../../wire/outcome.ts';

/** Probes a document before it runs; failed probes are a report, not an error. */
export type Preflight = (document: SubmittedDocument, signal: AbortSignal) => Promise<DoctorReport>;

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

/** The action of every submission. */
const SUBMIT = 'run.submit';

export interface RunServiceOptions {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'metrics' | 'redactor' | 'fetch'>;
  readonly history: History;
  readonly executor: JobExecutor;
  readonly prepare: Prepare;
  readonly doctor: Preflight;
  /** The default document that submissions are merged over, as it is now. */
  readonly base?: () => BaseDocument | undefined;
  readonly callbacks: CallbackRules;
  /** Hear everything that happens to runs, beside logs and callbacks. */
  readonly listeners?: readonly RunListener[];
  readonly limits: RunLimits;
  /** When files that a run wrote will be deleted: a date for each invocation that wrote some. */
  readonly outputsExpire?: (outcome: RunOutcome) => ReadonlyMap<string, string>;
  /** Whoever started the server chose how much is logged: documents have no say in it. */
  readonly isLevelChosen?: boolean;
  /** Address of this server, for the list of instances. */
  readonly listen?: string;
  /** This server shares its queue with others. */
  readonly cluster?: ClusterSettings;
  /** Other servers may use the history, and must do so in the same way. */
  readonly sharedBy?: ClusterStore | undefined;
}

export interface RunService extends Runs {
  /**
   * Registers this instance, fails orphans and begins to look after leases and retention. Call
   * once, before `submit`.
   */
  start(): Promise<void>;
  /** The audit log, for the routes. */
  readonly audit: Audit;
  /** Undefined when this server works alone. */
  readonly cluster: Cluster | undefined;
}

export function createRuns(options: RunServiceOptions): RunService {
  return new Service(options);
}

class Service implements RunService {
  readonly audit: Audit;
  readonly cluster: Cluster | undefined;
  readonly #options: RunServiceOptions;
  readonly #health: HistoryHealth;
  readonly #logs: RunLogs;
  readonly #follower: LogFollower;
  readonly #writer: LogWriter | undefined;
  readonly #callbacks: CallbackSender;
  readonly #live: LiveRuns;
  readonly #shards: RunsInShards;
  readonly #reader: RunReader;
  readonly #self: Instance;
  readonly #submissions: SubmissionWriter;
  readonly #closing = new AbortController();
  readonly #giveUp = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #draining = false;

  constructor(options: RunServiceOptions) {
    const { env, history, limits } = options;
    this.#options = options;
    this.#health = new HistoryHealth(history, env);
    this.#submissions = new SubmissionWriter(env.clock);
    this.audit = createAudit(this.#health.audit, env);
    this.#logs = new RunLogs(env.clock);
    const storesLog = history.persistent && limits.logRetentionSecs > 0;
    this.#writer = storesLog
      ? new LogWriter({ store: history, env, maxLinesPerRun: limits.maxLogLinesPerRun })
      : undefined;
    this.#callbacks = new CallbackSender(env);
    this.#self = newInstance(env, { listen: options.listen, maxConcurrent: limits.maxConcurrent });
    this.#live = this.#liveRuns(options);
    this.#reader = new RunReader({
      env,
      health: this.#health,
      live: this.#live,
      sharedBy: options.sharedBy,
    });
    this.#shards = new RunsInShards({
      ...options,
      callbacks: this.#callbacks,
      recordOf: (runId) => this.get(runId),
    });
    const { cluster } = options;
    this.cluster =
      cluster === undefined
        ? undefined
        : new Cluster({
            ...cluster,
            env,
            self: this.#self,
            live: this.#live,
            onEnded: (run, calls) => this.#shards.ended(run, calls),
          });
    if (cluster === undefined) env.metrics.set(clusterEnabled, {}, 0);
    this.#follower = new LogFollower({
      logOf: (runId) => this.#logOf(runId),
      clock: env.clock,
      ask: (work) => this.#health.ask(work),
      statusOf: async (runId) => (await this.#reader.find(runId)).status,
      isShared: cluster !== undefined,
      isStored: limits.logRetentionSecs > 0,
    });
  }

  #liveRuns({ env, executor, limits, isLevelChosen = false }: RunServiceOptions): LiveRuns {
    return new LiveRuns({
      owner: this.#self.instance_id,
      leaseTtlSecs: limits.leaseTtlSecs,
      slots: limits.maxConcurrent,
      capacity: limits.maxQueued,
      onChange: queueGauges(env),
      onRoom: () => this.cluster?.useRoom(),
      services: {
        env,
        executor,
        isLevelChosen,
        outputsExpire: this.#options.outputsExpire,
        health: this.#health,
        stopGraceMs: limits.stopGraceMs,
        giveUp: this.#giveUp.signal,
        follow: (run) => this.#follow(run),
        flushLog: (runId) => this.#writer?.flush(runId) ?? Promise.resolve(),
        onOver: ({ fence }) => {
          this.#logs.end(fence.run_id);
          this.#writer?.forget(fence.run_id);
        },
        onRecorded: ({ callback, fence }) => {
          if (callback !== undefined) this.#callbacks.send(callback, this.get(fence.run_id));
        },
        shards: {
          split: (fence, shards) => this.cluster?.split(fence, shards) ?? Promise.resolve(false),
          finish: (fence, ending) =>
            this.cluster?.finishShard(fence, ending) ?? Promise.resolve(false),
        },
        release: (fence, done) => this.cluster?.release(fence, done) ?? Promise.resolve(false),
      },
    });
  }

  #follow(run: RunIdentity): (event: RunEvent) => void {
    const { listeners = [], env } = this.#options;
    return followAll([logListener(this.#logs, this.#writer), ...listeners], run, env.log);
  }

  async start(): Promise<void> {
    const { env, history, limits, sharedBy } = this.#options;
    const { signal } = this.#closing;
    if (this.cluster !== undefined) {
      await this.cluster.begin();
      this.#loops = keepRetention({ env, history, limits, signal });
      return;
    }
    if (sharedBy !== undefined)
      await refuseMixture(sharedBy, { env, self: this.#self, isClustered: false });
    const keeper = new LeaseKeeper({
      env,
      history,
      health: this.#health,
      self: this.#self,
      ttlSecs: limits.leaseTtlSecs,
      live: this.#live.all,
      inFlight: () => this.#live.inFlight,
      adopt: () => this.#live.adopt(),
    });
    await keeper.begin();
    this.#loops = Promise.all([
      keeper.keep(signal),
      keepRetention({ env, history, limits, signal }),
    ]);
  }

  async submit(submission: Submission, caller: Caller, how: How = {}): Promise<SubmissionReceipt> {
    this.#refuseWhenDraining();
    const base = how.base === undefined ? this.#options.base?.() : (how.base ?? undefined);
    const bound = boundOf(how);
    const configHash = documentHash(submission.config);
    const summary = await this.#options.prepare({
      ...submission,
      bound,
      base: how.base,
      config_hash: configHash,
    });
    how.onPrepared?.(summary);
    checkSettings(submission, this.#options.callbacks);
    if (this.cluster !== undefined) refuseWithheld(how);
    const actions = [{ action: SUBMIT, caller }, ...(how.actions ?? [])];
    const asked: Preparation = { submission, configHash, summary, base, report: null };
    const known = await this.#repeatedWhenFull(asked, how, actions);
    if (known !== undefined) return receiptOf(known);
    const place = this.#live.reserve();
    try {
      const report =
        submission.doctor_first === true
          ? await this.#preflight({ ...submission, bound }, base)
          : null;
      const preparation: Preparation = { ...asked, report };
      const fresh = this.#newRun(preparation, how);
      const repeated = await this.#admit(fresh, preparation, actions);
      if (repeated === undefined) this.#enter(fresh, preparation, place);
      else place.release();
      how.onAdmitted?.(repeated === undefined ? 'new' : 'repeated');
      return receiptOf(repeated ?? fresh.run);
    } catch (error) {
      place.release();
      throw error;
    }
  }

  async get(runId: string): Promise<RunRecord> {
    return this.#callbacks.withDelivery(await this.#reader.get(runId));
  }

  submitted(runId: string): Promise<SubmittedRun> {
    return this.#reader.submitted(runId);
  }

  list(query: RunQuery): Promise<RunPage> {
    return this.#reader.list(query);
  }

  async cancel(runId: string, caller: Caller): Promise<'requested' | 'noop'> {
    const wish = await this.#health.ask((history) => history.requestCancel(runId));
    if (wish === 'missing') throw unknownRun();
    if (wish === 'terminal') return 'noop';
    const live = this.#live.get(runId);
    if (live !== undefined) await this.#live.stop(live, 'cancel');
    else await this.#cancelElsewhere(runId);
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
    return this.#follower.follow(runId, signal);
  }

  async continueLog(
    runId: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogEvent> | undefined> {
    return this.#follower.continue(runId, after, signal);
  }

  async readLog(
    runId: string,
    range: { readonly after: number | undefined; readonly limit: number },
  ): Promise<StoredLog> {
    await this.#reader.find(runId);
    return this.#follower.read(runId, { after: range.after ?? -1, limit: range.limit });
  }

  async readiness(): Promise<Readiness> {
    return {
      historyOk: await this.#health.probe(),
      queueOk: !this.#live.full,
      draining: this.#draining,
      instances: this.cluster?.instances ?? 0,
    };
  }

  async clusterStatus(): Promise<ClusterStatus> {
    const { cluster } = this;
    if (cluster === undefined) return { enabled: false, instances: 0, members: [] };
    return this.#health.ask(() => cluster.status());
  }

  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const { env, history, cluster, listeners = [] } = this.#options;
    const over = new AbortController();
    await this.cluster?.stopClaiming();
    const waitMs = cluster?.handsOver === true ? 0 : graceMs;
    void env.clock.sleep(waitMs, over.signal).then(() => this.#stopAll(over.signal));
    if (history.persistent) this.#live.hold();
    await this.#live.idle();
    await Promise.all([
      this.#callbacks.settle(this.#giveUp.signal),
      ...listeners.map((listener) => listener.settle?.(this.#giveUp.signal)),
    ]);
    over.abort();
    this.#closing.abort();
    await Promise.all([this.#loops, this.cluster?.close()]);
    await this.#writer?.flush();
    await history.removeInstance(this.#self.instance_id).catch((error: unknown) => {
      env.log.warn('this instance could not be signed off', { error: messageOf(error) });
    });
  }

  /** That of a run which waits here is opened by its first reader. */
  #logOf(runId: string): RunLog | undefined {
    const waits = this.cluster === undefined && this.#live.get(runId) !== undefined;
    return waits ? this.#logs.open(runId) : this.#logs.get(runId);
  }

  #refuseWhenDraining(): void {
    if (this.#draining)
      throw new RefusedError('unavailable', 'the server is shutting down and takes no more runs');
  }

  async #preflight(
    submission: PrepareInput,
    base: BaseDocument | undefined,
  ): Promise<DoctorReport> {
    const document = submittedDocument(submission, base);
    const report = await this.#options.doctor(document, this.#closing.signal);
    const failure = doctorFailure(report);
    if (failure !== undefined)
      throw new RefusedError('unprocessable', failure, { details: report });
    return report;
  }

  #newRun(preparation: Preparation, how: How): NewRun {
    const { env, limits } = this.#options;
    const owner = this.cluster === undefined ? this.#self.instance_id : NOBODY;
    return newRun(preparation, { env, owner, how, submissions: this.#submissions, ...limits });
  }

  /** Stores the run; or gives the run that this submission repeats. */
  async #admit(
    { run, claim, stored: submission }: NewRun,
    { summary }: Preparation,
    actions: readonly SubmittingAction[],
  ): Promise<StoredRun | undefined> {
    const audits = actions.map(({ action, caller }) =>
      this.audit.complete({
        ...actionOf(caller, action, run.run_id),
        ...(action === SUBMIT ? { config_fingerprint: summary.fingerprint } : {}),
      }),
    );
    const admission = await this.#health.ask((history) =>
      history.admit(run, { audits, submission, ...(claim === undefined ? {} : { claim }) }),
    );
    return admission.type === 'admitted' ? undefined : this.#repeat(admission, actions);
  }

  /** A repetition needs no place in the queue. */
  async #repeatedWhenFull(
    preparation: Preparation,
    how: How,
    actions: readonly SubmittingAction[],
  ): Promise<StoredRun | undefined> {
    if (!this.#live.full || preparation.submission.idempotency_key == null) return undefined;
    const { claim } = this.#newRun(preparation, how);
    const repetition = claim && (await this.#health.ask((history) => history.repeated(claim)));
    if (repetition === undefined) return undefined;
    const run = await this.#repeat(repetition, actions);
    how.onAdmitted?.('repeated');
    return run;
  }

  async #repeat(repetition: Repetition, actions: readonly SubmittingAction[]): Promise<StoredRun> {
    if (repetition.type === 'mismatch')
      throw new RefusedError(
        'conflict',
        'the idempotency key was used before for another request',
        { hint: 'use a new key' },
      );
    const { run } = repetition;
    if (run === undefined)
      throw new RefusedError('not_found', 'the run of this idempotency key is gone');
    this.#options.env.metrics.inc(idempotencyHits, {});
    for (const { action, caller } of actions)
      if (action !== SUBMIT) await this.audit.record(actionOf(caller, action, run.run_id));
    return run;
  }

  #enter(fresh: NewRun, preparation: Preparation, place: ReturnType<LiveRuns['reserve']>): void {
    const { log } = this.#options.env;
    logWarnings(preparation.summary, {
      log,
      runId: fresh.run.run_id,
      isShared: this.cluster !== undefined,
    });
    if (this.cluster === undefined) return this.#live.enter(fresh, preparation, place);
    // Whoever is free executes it.
    place.release();
    this.cluster.offer();
  }

  /** A run that nobody has begun is ended here; the server that executes it is told. */
  async #cancelElsewhere(runId: string): Promise<void> {
    if (this.cluster === undefined) return;
    const { cluster } = this;
    const isTaken = await this.#health.ask(() => cluster.takeQueued(runId));
    if (isTaken) return;
    cluster.tellCancel(runId);
    await this.#health.ask(() => cluster.cancelShards(runId));
  }

  async #stopAll(over: AbortSignal): Promise<void> {
    if (over.aborted) return;
    const { env, limits } = this.#options;
    const runs = this.#live.all.size;
    if (this.cluster === undefined) {
      env.log.warn('the grace is over: unfinished runs are stopped', { runs });
      this.#live.stopAll();
    } else {
      env.log.info('unfinished runs are given to other servers', { runs });
      this.#live.giveAllBack();
    }
    await env.clock.sleep(limits.stopGraceMs, over);
    this.#giveUp.abort();
  }
}
