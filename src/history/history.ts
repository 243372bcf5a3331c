/**
 * What the control plane stores. Every implementation passes the same suite
 * (`test/conformance/history.ts`).
 *
 * A method that writes resolves when the change is durable (as far as the implementation can
 * promise that at all), and its change is seen by every read that starts afterwards. Writes are
 * atomic and take effect in the order in which they were called. A read resolves when everything it
 * returns is durable. `startRun` alone resolves when its change is seen by all: a crash of this
 * process keeps it, a loss of power may lose it until the next write is durable; the run is
 * unfinished either way. All times are RFC 3339 UTC with milliseconds (`Date.toISOString`): fixed
 * width, so that text order is time order. Methods reject with `HistoryError` when the store cannot
 * be reached or refuses; nothing was changed then. Only when the disk itself failed that is not
 * known: the history rejects everything from then on.
 */
import { AppError } from '../lib/errors.ts';
import type { LogLine } from '../lib/log.ts';
import type { AuditQuery, AuditRecord } from '../wire/audit.ts';
import type { RunStatus } from '../wire/run-status.ts';
import type { Shard } from '../wire/shards.ts';
import type { RunRecord, StoredLogLine } from '../wire/run.ts';
import type { RunFence } from './run-fence.ts';
import type { CatalogStore } from './catalog.ts';
import type { OutputStore } from './outputs.ts';
import type { ScheduleStore } from './schedules.ts';
import type { TemplateStore } from './templates.ts';
import type { TriggerStore } from './triggers.ts';

export type { RunFence } from './run-fence.ts';

export class HistoryError extends AppError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('history_unavailable', message, options);
  }
}

/**
 * A run as stored: the record of the API (without what is computed on reading) and who answers for
 * it.
 */
export interface StoredRun extends Omit<RunRecord, 'elapsed_secs' | 'callback_delivery'> {
  /** Instance that executes the run. */
  readonly owner: string;
  /** Until when the owner is trusted to be alive. */
  readonly lease_until: string;
  /** A wish that outlives the process that took it; the owner obeys it. */
  readonly cancel_requested: boolean;
  /** Both present when it is a shard of a run, and no run of its own. */
  readonly parent_id?: string;
  readonly shard?: Shard;
}

export interface Claim {
  readonly key: string;
  /** Of the whole request; the same key with another one is a conflict. */
  readonly fingerprint: string;
  /** A claim made at this time or before has expired. */
  readonly expired_at_or_before: string;
}

/** Owner of a queued run that any server of a cluster may take. */
export const NOBODY = '';

/** A text that is stored once for all submissions that share it. */
export interface SharedText {
  /** Names it; equal texts have equal ones. */
  readonly hash: string;
  readonly content: string;
}

/**
 * What is needed to execute a run: by a server that takes it over, and to run it again. It holds
 * references to secrets, and values only where the author wrote them into the document.
 */
export interface StoredSubmission {
  /** `storedSubmissionSchema` (`wire/submission.ts`) as JSON. */
  readonly content: string;
  /** As it was sent; absent where `content` holds it. */
  readonly document?: SharedText;
  /** The default document of the server it was submitted to. */
  readonly base?: SharedText;
}

/** A queued run that has a new owner. */
export interface AdoptedRun {
  readonly run: StoredRun;
  /** As it was admitted. */
  readonly submission: StoredSubmission;
}

export interface Adoption {
  readonly owner: string;
  readonly leaseUntil: string;
  readonly now: string;
  /** At most so many runs, in the order of `byTurn` (`turns.ts`). */
  readonly limit: number;
}

export type Admission = { readonly type: 'admitted' } | Repetition;

export type Repetition =
  /** The key was used before for the same request; `run` is undefined when that run is gone. */
  { readonly type: 'replay'; readonly run: StoredRun | undefined } | { readonly type: 'mismatch' };

export interface RunEnding extends Pick<
  StoredRun,
  'records_written' | 'invocations' | 'nodes' | 'error'
> {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly finished_at: string;
  /** What was submitted is erased now, and not with the run. */
  readonly erases_submission?: boolean;
}

export interface StoredRunQuery {
  readonly status?: readonly RunStatus[];
  readonly name?: string;
  /** Inclusive bounds on `submitted_at`. */
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  /** Continue after this run id; unknown means from the start. */
  readonly cursor?: string;
}

export interface StoredRunPage {
  readonly runs: readonly StoredRun[];
  readonly more: boolean;
}

export interface AdmitOptions {
  readonly claim?: Claim;
  readonly audits?: readonly AuditRecord[];
  /** Without one the run fails when its owner is gone, even before it started. */
  readonly submission?: StoredSubmission;
}

export interface RunStore {
  /**
   * Claims the key, stores the run, its submission and the audit entries: all or nothing. The claim
   * is made at `run.submitted_at`; one whose time lies in the future counts as unexpired. The
   * submission is erased with the run.
   */
  admit(run: StoredRun, options: AdmitOptions): Promise<Admission>;
  /** What `admit` would answer to a key that is held; undefined when it is free. Stores nothing. */
  repeated(claim: Claim): Promise<Repetition | undefined>;
  /** Undefined when there is no such run, or none is stored of it any more. */
  getSubmission(runId: string): Promise<StoredSubmission | undefined>;
  getRun(runId: string): Promise<StoredRun | undefined>;
  /** Newest submission first, then by run id descending; without shards. */
  listRuns(query: StoredRunQuery): Promise<StoredRunPage>;
  /** Queued to running, seen by all. False when the fence is stale or the run is not queued. */
  startRun(fence: RunFence, startedAt: string): Promise<boolean>;
  /** Running to queued: nothing of it was executed. False when the fence is stale or the run is not running. */
  returnToQueue(fence: RunFence): Promise<boolean>;
  /**
   * To a terminal status. False when the fence is stale or the run is terminal already: the record
   * then stays as it is.
   */
  finishRun(fence: RunFence, ending: RunEnding): Promise<boolean>;
  /** Notes the wish to cancel. `terminal` changes nothing. */
  requestCancel(runId: string): Promise<'requested' | 'terminal' | 'missing'>;
  /**
   * Removes a terminal run and the claim that points at it; its log lines stay until their own
   * retention.
   */
  deleteRun(runId: string): Promise<'deleted' | 'in_flight' | 'missing'>;
}

export interface LeaseStore {
  /**
   * Extends the lease of every unfinished run of the owner; returns them, and whether each is to be
   * cancelled.
   */
  renewLeases(
    owner: string,
    leaseUntil: string,
  ): Promise<readonly { readonly run_id: string; readonly cancel_requested: boolean }[]>;
  /**
   * Fails runs that had started, or whose submission is not stored, and whose lease ended before
   * `now`. Returns their ids; a second call finds none.
   */
  failExpired(now: string, error: string): Promise<readonly string[]>;
  /** The same for every such run of an owner that is known to be gone, whatever its lease. */
  failRunsOf(owner: string, now: string, error: string): Promise<readonly string[]>;
  /**
   * Takes over queued runs whose lease ended before `now`, or whose owner is not among the
   * instances any more, if their submission is stored. Each run goes to one owner only.
   */
  adoptQueued(adoption: Adoption): Promise<readonly AdoptedRun[]>;
}

/**
 * A server process. Where it runs is kept so that its end can be noticed at once by another one on
 * the same host.
 */
export interface Instance {
  readonly instance_id: string;
  /** Names the machine and process namespace; pids of different hosts are not compared. */
  readonly host: string;
  readonly pid: number;
  /** Tells a process from a later one with the same pid; null where the system does not say. */
  readonly pid_started: string | null;
  readonly listen: string | null;
  readonly started_at: string;
  readonly seen_at: string;
  readonly max_concurrent: number;
  readonly in_flight: number;
}

export interface InstanceStore {
  /** Inserts or replaces. */
  putInstance(instance: Instance): Promise<void>;
  /** By id. */
  listInstances(): Promise<readonly Instance[]>;
  removeInstance(instanceId: string): Promise<void>;
}

export interface RunLogLine extends StoredLogLine {
  readonly run_id: string;
}

export interface StoredLogPage {
  /** Oldest first. */
  readonly lines: readonly StoredLogLine[];
  /** True when these lines end the log and later ones were dropped. */
  readonly truncated: boolean;
}

export interface LogStore {
  /** Stores lines of any runs; a line already stored under its `seq` is kept as it is. */
  appendLog(lines: readonly RunLogLine[]): Promise<void>;
  /** Marks that lines were dropped where the log ends with `seq`; lines may follow the mark. */
  markLogTruncated(
    runId: string,
    after: Pick<StoredLogLine, 'seq'> & Pick<LogLine, 'ts'>,
  ): Promise<void>;
  /** Lines with `seq > after`. */
  readLog(
    runId: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<StoredLogPage>;
}

export interface AuditStore {
  recordAudit(record: AuditRecord): Promise<void>;
  /** Newest first. */
  listAudit(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

/** Everything older than its bound goes; an absent bound purges nothing. */
export interface PurgeBounds {
  /** Terminal runs by `finished_at`, with their claims. */
  readonly runsBefore?: string;
  readonly claimsBefore?: string;
  readonly auditBefore?: string;
  readonly logsBefore?: string;
  /** Instances by `seen_at`. */
  readonly instancesBefore?: string;
}

export interface Purged {
  readonly runs: number;
  readonly claims: number;
  readonly audit: number;
  readonly logs: number;
  readonly instances: number;
}

export interface History extends RunStore, LeaseStore, InstanceStore, LogStore, AuditStore {
  /** Data sets and how they hang together. */
  readonly catalog: CatalogStore;
  /** Files that sinks wrote on this machine. */
  readonly outputs: OutputStore;
  /** Registered templates; kept until they are deleted. */
  readonly templates: TemplateStore;
  /** How far schedules have come; kept until they are removed. */
  readonly schedules: ScheduleStore;
  /** What triggers remember. */
  readonly triggers: TriggerStore;
  /** False: nothing survives the process, and log lines are not kept. */
  readonly persistent: boolean;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  purge(bounds: PurgeBounds): Promise<Purged>;
  /** Finishes what was called before; nothing may be called after. */
  close(): Promise<void>;
}
