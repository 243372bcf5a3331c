/**
 * History that ends with the process. Bounded: the oldest finished runs and audit entries make room
 * for new ones.
 */
import { isTimeOrdered } from '../../lib/ids.ts';
import type { AuditQuery, AuditRecord } from '../../wire/audit.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type {
  Admission,
  AdmitOptions,
  AdoptedRun,
  Adoption,
  Claim,
  History,
  Instance,
  PurgeBounds,
  Purged,
  Repetition,
  RunEnding,
  RunFence,
  StoredLogPage,
  StoredRun,
  StoredRunPage,
  StoredRunQuery,
  StoredSubmission,
} from '../history.ts';
import { byTurn } from '../turns.ts';
import { MemoryCatalog } from './memory-catalog.ts';
import { MemoryOutputs } from './memory-outputs.ts';
import { MemorySchedules } from './memory-schedules.ts';
import { MemorySubmissions } from './memory-submissions.ts';
import { MemoryTemplates } from './memory-templates.ts';
import { MemoryTriggers } from './memory-triggers.ts';

const AUDIT_ENTRIES = 10_000;
const FINISHED_RUNS = 100_000;

interface HeldClaim {
  readonly run_id: string;
  readonly fingerprint: string;
  readonly claimed_at: string;
}

export interface MemoryLimits {
  readonly auditEntries?: number;
  readonly finishedRuns?: number;
}

export class MemoryHistory implements History {
  readonly persistent = false;
  readonly cluster = undefined;
  readonly #runs = new Map<string, StoredRun>();
  readonly #unfinished = new Set<string>();
  readonly #submissions = new MemorySubmissions();
  readonly #claims = new Map<string, HeldClaim>();
  readonly #instances = new Map<string, Instance>();
  readonly catalog = new MemoryCatalog();
  readonly outputs = new MemoryOutputs((fence) => this.#held(fence) !== undefined);
  readonly templates = new MemoryTemplates();
  readonly schedules = new MemorySchedules();
  readonly triggers = new MemoryTriggers();
  #audit: AuditRecord[] = [];
  readonly #auditEntries: number;
  readonly #finishedRuns: number;

  constructor(limits: MemoryLimits = {}) {
    this.#auditEntries = limits.auditEntries ?? AUDIT_ENTRIES;
    this.#finishedRuns = limits.finishedRuns ?? FINISHED_RUNS;
  }

  async admit(run: StoredRun, options: AdmitOptions): Promise<Admission> {
    const { claim, submission } = options;
    if (claim !== undefined) {
      const repetition = this.#repetition(claim);
      if (repetition !== undefined) return repetition;
      this.#claims.set(claim.key, {
        run_id: run.run_id,
        fingerprint: claim.fingerprint,
        claimed_at: run.submitted_at,
      });
    }
    this.#runs.set(run.run_id, run);
    if (!isTerminal(run.status)) this.#unfinished.add(run.run_id);
    if (submission !== undefined) this.#submissions.put(run.run_id, submission);
    for (const record of options.audits ?? []) this.#keepAudit(record);
    return { type: 'admitted' };
  }

  async repeated(claim: Claim): Promise<Repetition | undefined> {
    return this.#repetition(claim);
  }

  #repetition(claim: Claim): Repetition | undefined {
    const held = this.#claims.get(claim.key);
    if (held === undefined || held.claimed_at <= claim.expired_at_or_before) return undefined;
    if (held.fingerprint !== claim.fingerprint) return { type: 'mismatch' };
    return { type: 'replay', run: this.#runs.get(held.run_id) };
  }

  async getSubmission(runId: string): Promise<StoredSubmission | undefined> {
    return this.#submissions.get(runId);
  }

  async getRun(runId: string): Promise<StoredRun | undefined> {
    return this.#runs.get(runId);
  }

  async listRuns(query: StoredRunQuery): Promise<StoredRunPage> {
    const { status, name, since, until, limit } = query;
    const isBehind = this.#behind(query.cursor);
    const found = [...this.#runs.values()].filter(
      (run) =>
        (status === undefined || status.includes(run.status)) &&
        (name === undefined || run.name === name) &&
        (since === undefined || run.submitted_at >= since) &&
        (until === undefined || run.submitted_at <= until) &&
        isBehind(run),
    );
    found.sort(newestFirst);
    return { runs: found.slice(0, limit), more: found.length > limit };
  }

  #behind(cursor: string | undefined): (run: StoredRun) => boolean {
    const last = cursor === undefined ? undefined : this.#runs.get(cursor);
    if (last !== undefined) return (run) => newestFirst(last, run) < 0;
    // The run is gone; its id still gives its place.
    if (cursor !== undefined && isTimeOrdered(cursor)) return (run) => run.run_id < cursor;
    return () => true;
  }

  async startRun(fence: RunFence, startedAt: string): Promise<boolean> {
    const run = this.#held(fence);
    if (run?.status !== 'queued') return false;
    this.#runs.set(run.run_id, { ...run, status: 'running', started_at: startedAt });
    return true;
  }

  async returnToQueue(fence: RunFence): Promise<boolean> {
    const run = this.#held(fence);
    if (run?.status !== 'running') return false;
    this.#runs.set(run.run_id, { ...run, status: 'queued', started_at: null });
    return true;
  }

  async finishRun(fence: RunFence, ending: RunEnding): Promise<boolean> {
    const run = this.#held(fence);
    if (run === undefined) return false;
    this.#finish(run, ending);
    return true;
  }

  async requestCancel(runId: string): Promise<'requested' | 'terminal' | 'missing'> {
    const run = this.#runs.get(runId);
    if (run === undefined) return 'missing';
    if (isTerminal(run.status)) return 'terminal';
    this.#runs.set(runId, { ...run, cancel_requested: true });
    return 'requested';
  }

  async deleteRun(runId: string): Promise<'deleted' | 'in_flight' | 'missing'> {
    const run = this.#runs.get(runId);
    if (run === undefined) return 'missing';
    if (!isTerminal(run.status)) return 'in_flight';
    this.#forget(run);
    return 'deleted';
  }

  async renewLeases(
    owner: string,
    leaseUntil: string,
  ): Promise<readonly { run_id: string; cancel_requested: boolean }[]> {
    const mine = this.#unfinishedRuns().filter((run) => run.owner === owner);
    for (const run of mine) this.#runs.set(run.run_id, { ...run, lease_until: leaseUntil });
    return mine.map(({ run_id, cancel_requested }) => ({ run_id, cancel_requested }));
  }

  async failExpired(now: string, error: string): Promise<readonly string[]> {
    return this.#failAll(
      this.#lostWithOwner().filter((run) => run.lease_until < now),
      now,
      error,
    );
  }

  async failRunsOf(owner: string, now: string, error: string): Promise<readonly string[]> {
    return this.#failAll(
      this.#lostWithOwner().filter((run) => run.owner === owner),
      now,
      error,
    );
  }

  async adoptQueued(adoption: Adoption): Promise<readonly AdoptedRun[]> {
    const { owner, leaseUntil, now, limit } = adoption;
    const abandoned = this.#unfinishedRuns()
      .filter((run) => this.#isStored(run))
      .filter((run) => run.lease_until < now || !this.#instances.has(run.owner))
      .sort(byTurn)
      .slice(0, limit);
    return abandoned.flatMap((found) => {
      const run = { ...found, owner, lease_until: leaseUntil };
      this.#runs.set(run.run_id, run);
      const submission = this.#submissions.get(run.run_id);
      return submission === undefined ? [] : [{ run, submission }];
    });
  }

  async putInstance(instance: Instance): Promise<void> {
    this.#instances.set(instance.instance_id, instance);
  }

  async listInstances(): Promise<readonly Instance[]> {
    return [...this.#instances.values()].sort((a, b) => (a.instance_id < b.instance_id ? -1 : 1));
  }

  async removeInstance(instanceId: string): Promise<void> {
    this.#instances.delete(instanceId);
  }

  async appendLog(): Promise<void> {}

  async markLogTruncated(): Promise<void> {}

  async readLog(): Promise<StoredLogPage> {
    return { lines: [], truncated: false };
  }

  async recordAudit(record: AuditRecord): Promise<void> {
    this.#keepAudit(record);
  }

  async listAudit(query: AuditQuery): Promise<readonly AuditRecord[]> {
    const since = query.since?.toISOString();
    const until = query.until?.toISOString();
    const found = this.#audit.filter(
      (entry) =>
        (query.principal === undefined || entry.principal === query.principal) &&
        (query.action === undefined || entry.action === query.action) &&
        (since === undefined || entry.timestamp >= since) &&
        (until === undefined || entry.timestamp <= until),
    );
    found.sort((a, b) =>
      a.timestamp === b.timestamp ? (a.id < b.id ? 1 : -1) : a.timestamp < b.timestamp ? 1 : -1,
    );
    return found.slice(0, query.limit);
  }

  async ping(): Promise<void> {}

  async purge(bounds: PurgeBounds): Promise<Purged> {
    const { runsBefore, claimsBefore, auditBefore, instancesBefore } = bounds;
    const claimsAtFirst = this.#claims.size;
    let runs = 0;
    for (const run of this.#runs.values()) {
      if (runsBefore === undefined || run.finished_at === null || run.finished_at >= runsBefore)
        continue;
      this.#forget(run);
      runs += 1;
    }
    for (const [key, claim] of this.#claims) {
      if (claimsBefore !== undefined && claim.claimed_at < claimsBefore) this.#claims.delete(key);
    }
    const auditAtFirst = this.#audit.length;
    if (auditBefore !== undefined)
      this.#audit = this.#audit.filter((entry) => entry.timestamp >= auditBefore);
    let instances = 0;
    for (const instance of this.#instances.values()) {
      if (instancesBefore === undefined || instance.seen_at >= instancesBefore) continue;
      this.#instances.delete(instance.instance_id);
      instances += 1;
    }
    return {
      runs,
      claims: claimsAtFirst - this.#claims.size,
      audit: auditAtFirst - this.#audit.length,
      logs: 0,
      instances,
    };
  }

  async close(): Promise<void> {}

  #held(fence: RunFence): StoredRun | undefined {
    const run = this.#runs.get(fence.run_id);
    if (run === undefined || run.owner !== fence.owner || run.attempt !== fence.attempt)
      return undefined;
    return isTerminal(run.status) ? undefined : run;
  }

  #unfinishedRuns(): StoredRun[] {
    return [...this.#unfinished].flatMap((runId) => this.#runs.get(runId) ?? []);
  }

  #isStored({ status, run_id }: StoredRun): boolean {
    return status === 'queued' && this.#submissions.has(run_id);
  }

  /** Runs that no other server can take over. */
  #lostWithOwner(): StoredRun[] {
    return this.#unfinishedRuns().filter((run) => !this.#isStored(run));
  }

  #failAll(runs: readonly StoredRun[], now: string, error: string): string[] {
    for (const run of runs)
      this.#finish(run, { ...run, status: 'failed', finished_at: now, error });
    return runs.map((run) => run.run_id);
  }

  #finish(run: StoredRun, ending: RunEnding): void {
    const { status, finished_at, records_written, invocations, error, nodes } = ending;
    this.#runs.set(run.run_id, {
      ...run,
      status,
      finished_at,
      records_written,
      invocations,
      error,
      ...(nodes === undefined ? {} : { nodes }),
    });
    this.#unfinished.delete(run.run_id);
    if (ending.erases_submission === true) this.#submissions.erase(run.run_id);
    else this.#submissions.end(run.run_id);
    if (this.#runs.size - this.#unfinished.size <= this.#finishedRuns) return;
    for (const oldest of this.#runs.values()) {
      if (!isTerminal(oldest.status)) continue;
      this.#forget(oldest);
      return;
    }
  }

  #forget(run: StoredRun): void {
    this.#runs.delete(run.run_id);
    this.#submissions.erase(run.run_id);
    if (
      run.idempotency_key !== null &&
      this.#claims.get(run.idempotency_key)?.run_id === run.run_id
    ) {
      this.#claims.delete(run.idempotency_key);
    }
  }

  #keepAudit(record: AuditRecord): void {
    this.#audit.push(record);
    // A tenth at a time: moving the whole ring for every entry would cost more than it holds.
    if (this.#audit.length > this.#auditEntries * 1.1)
      this.#audit = this.#audit.slice(-this.#auditEntries);
  }
}

function newestFirst(a: StoredRun, b: StoredRun): number {
  if (a.submitted_at !== b.submitted_at) return a.submitted_at < b.submitted_at ? 1 : -1;
  if (a.run_id === b.run_id) return 0;
  return a.run_id < b.run_id ? 1 : -1;
}
