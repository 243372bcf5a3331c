/** A history in SQL tables; SQLite and PostgreSQL share it. */
import { isTimeOrdered } from '../../lib/ids.ts';
import type { AuditQuery, AuditRecord } from '../../wire/audit.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type {
  Admission,
  AdmitOptions,
  AdoptedRun,
  Adoption,
  Claim,
  Instance,
  PurgeBounds,
  Purged,
  Repetition,
  RunEnding,
  RunFence,
  RunLogLine,
  StoredLogPage,
  StoredRun,
  StoredRunPage,
  StoredRunQuery,
  StoredSubmission,
} from '../history.ts';
import type { ClusterStore, OpenedHistory } from '../cluster.ts';
import { Conditions } from './conditions.ts';
import {
  finishRun,
  NOT_COMPLETED,
  returnToQueue,
  startRun,
  STILL_UNFINISHED,
} from './run-statements.ts';
import { instanceOf, runOf, text } from './rows.ts';
import { admission, HOLDER, repetitionOf } from './sql-admission.ts';
import { insertAudit, listAudit } from './sql-audit.ts';
import { SqlCatalog } from './sql-catalog.ts';
import { adoption, FAIL_EXPIRED, FAIL_RUNS_OF, failure, renewal } from './sql-leases.ts';
import { insertLine, insertTruncation, readLog } from './sql-log.ts';
import { SqlOutputs } from './sql-outputs.ts';
import { purge } from './sql-retention.ts';
import { SqlSchedules } from './sql-schedules.ts';
import type { SqlResult, SqlScript, SqlStore } from './sql-store.ts';
import { eraseSubmissions, SELECT_SUBMISSION, submissionOf } from './sql-submissions.ts';
import { SqlTemplates } from './sql-templates.ts';
import { SqlTriggers } from './sql-triggers.ts';

const RUN = 'SELECT * FROM svc_serve_runs WHERE run_id = ?';
const STATUS = 'SELECT status FROM svc_serve_runs WHERE run_id = ?';
const CANCEL = `UPDATE svc_serve_runs SET cancel_requested = 1 WHERE run_id = ? AND ${STILL_UNFINISHED}`;
const RELEASE_CLAIM = `DELETE FROM svc_serve_idem
  WHERE idem_key = (SELECT idempotency_key FROM svc_serve_runs WHERE run_id = ?) AND run_id = ?`;
const PUT_INSTANCE = `INSERT INTO svc_serve_instances (instance_id, host, pid, pid_started, listen, started_at, seen_at, max_concurrent, in_flight)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (instance_id) DO UPDATE SET host = excluded.host, pid = excluded.pid, pid_started = excluded.pid_started,
    listen = excluded.listen, started_at = excluded.started_at, seen_at = excluded.seen_at,
    max_concurrent = excluded.max_concurrent, in_flight = excluded.in_flight`;

export class SqlHistory implements OpenedHistory {
  readonly persistent = true;
  readonly #store: SqlStore;
  readonly catalog: SqlCatalog;
  readonly outputs: SqlOutputs;
  readonly templates: SqlTemplates;
  readonly schedules: SqlSchedules;
  readonly triggers: SqlTriggers;
  readonly cluster: ClusterStore | undefined;

  constructor(store: SqlStore, cluster?: ClusterStore) {
    this.#store = store;
    this.cluster = cluster;
    this.catalog = new SqlCatalog(store);
    this.outputs = new SqlOutputs(store);
    this.templates = new SqlTemplates(store);
    this.schedules = new SqlSchedules(store);
    this.triggers = new SqlTriggers(store);
  }

  admit(run: StoredRun, options: AdmitOptions): Promise<Admission> {
    const { claim } = options;
    return this.#store.change(() => admission(this.#store.dialect, run, options), {
      touches: claim === undefined ? [run.run_id] : [run.run_id, `key ${claim.key}`],
    });
  }

  async repeated(claim: Claim): Promise<Repetition | undefined> {
    const [holder] = await this.#store.read(HOLDER, [claim.key]);
    const isHeld = holder !== undefined && text(holder['claimed_at']) > claim.expired_at_or_before;
    return isHeld ? repetitionOf(holder, claim) : undefined;
  }

  async getRun(runId: string): Promise<StoredRun | undefined> {
    const [row] = await this.#store.read(RUN, [runId]);
    return row === undefined ? undefined : runOf(row);
  }

  async getSubmission(runId: string): Promise<StoredSubmission | undefined> {
    return submissionOf((await this.#store.read(SELECT_SUBMISSION, [runId]))[0]);
  }

  async listRuns(query: StoredRunQuery): Promise<StoredRunPage> {
    const where = new Conditions();
    where.add('parent_id IS NULL');
    if (query.status !== undefined) {
      if (!query.status.includes('completed')) where.add(NOT_COMPLETED);
      where.add(`status IN (${query.status.map(() => '?').join(', ')})`, ...query.status);
    }
    if (query.name !== undefined) where.add('name = ?', query.name);
    if (query.since !== undefined) where.add('submitted_at >= ?', query.since);
    if (query.until !== undefined) where.add('submitted_at <= ?', query.until);
    const last = query.cursor === undefined ? undefined : await this.getRun(query.cursor);
    if (last !== undefined)
      where.add('(submitted_at, run_id) < (?, ?)', last.submitted_at, last.run_id);
    // The run is gone; its id still gives its place.
    else if (query.cursor !== undefined && isTimeOrdered(query.cursor))
      where.add('run_id < ?', query.cursor);
    const sql = `SELECT * FROM svc_serve_runs ${where.text()} ORDER BY submitted_at DESC, run_id DESC LIMIT ?`;
    const rows = await this.#store.read(sql, [...where.values, query.limit + 1]);
    return { runs: rows.slice(0, query.limit).map(runOf), more: rows.length > query.limit };
  }

  startRun(fence: RunFence, startedAt: string): Promise<boolean> {
    const script = function* (): SqlScript<boolean> {
      const [started] = yield [startRun(fence, startedAt)];
      return started?.changed === 1;
    };
    return this.#store.change(script, {
      isSeenAtOnce: true,
      isDecisive: true,
      touches: [fence.run_id],
    });
  }

  async returnToQueue(fence: RunFence): Promise<boolean> {
    const options = { isDecisive: true, touches: [fence.run_id] };
    const [changed] = await this.#store.write([returnToQueue(fence)], options);
    return changed === 1;
  }

  finishRun(fence: RunFence, ending: RunEnding): Promise<boolean> {
    const { dialect } = this.#store;
    const script = function* (): SqlScript<boolean> {
      const [finished] = yield [finishRun(fence, ending)];
      if (finished?.changed !== 1) return false;
      if (ending.erases_submission === true) yield* eraseSubmissions(dialect, [fence.run_id]);
      return true;
    };
    return this.#store.change(script, { isDecisive: true, touches: [fence.run_id] });
  }

  requestCancel(runId: string): Promise<'requested' | 'terminal' | 'missing'> {
    const script = function* (): SqlScript<'requested' | 'terminal' | 'missing'> {
      const [noted] = yield [{ sql: CANCEL, values: [runId] }];
      if (noted?.changed === 1) return 'requested';
      return (yield* statusOf(runId)) === undefined ? 'missing' : 'terminal';
    };
    return this.#store.change(script, { touches: [runId] });
  }

  deleteRun(runId: string): Promise<'deleted' | 'in_flight' | 'missing'> {
    const { dialect } = this.#store;
    const script = function* (): SqlScript<'deleted' | 'in_flight' | 'missing'> {
      const status = yield* statusOf(runId);
      if (status === undefined) return 'missing';
      if (!isTerminal(status)) return 'in_flight';
      const [, deleted] = yield [
        { sql: RELEASE_CLAIM, values: [runId, runId] },
        { sql: 'DELETE FROM svc_serve_runs WHERE run_id = ?', values: [runId] },
        { sql: 'DELETE FROM svc_serve_runs WHERE parent_id = ?', values: [runId] },
      ];
      yield* eraseSubmissions(dialect, [runId]);
      // Another server may have deleted it meanwhile.
      return deleted?.changed === 1 ? 'deleted' : 'missing';
    };
    return this.#store.change(script);
  }

  renewLeases(
    owner: string,
    leaseUntil: string,
  ): Promise<readonly { run_id: string; cancel_requested: boolean }[]> {
    return this.#store.change(() => renewal(owner, leaseUntil));
  }

  failExpired(now: string, error: string): Promise<readonly string[]> {
    return this.#store.change(() => failure(FAIL_EXPIRED, [now, error, now]));
  }

  failRunsOf(owner: string, now: string, error: string): Promise<readonly string[]> {
    return this.#store.change(() => failure(FAIL_RUNS_OF, [now, error, owner]));
  }

  adoptQueued(request: Adoption): Promise<readonly AdoptedRun[]> {
    return this.#store.change(() => adoption(this.#store.dialect, request));
  }

  async putInstance(instance: Instance): Promise<void> {
    const { instance_id, host, pid, pid_started, listen, started_at, seen_at } = instance;
    const where = [instance_id, host, pid, pid_started, listen];
    const what = [started_at, seen_at, instance.max_concurrent, instance.in_flight];
    await this.#store.write([{ sql: PUT_INSTANCE, values: [...where, ...what] }]);
  }

  async listInstances(): Promise<readonly Instance[]> {
    const sql = 'SELECT * FROM svc_serve_instances ORDER BY instance_id';
    return (await this.#store.read(sql, [])).map(instanceOf);
  }

  async removeInstance(instanceId: string): Promise<void> {
    const sql = 'DELETE FROM svc_serve_instances WHERE instance_id = ?';
    await this.#store.write([{ sql, values: [instanceId] }]);
  }

  async appendLog(lines: readonly RunLogLine[]): Promise<void> {
    await this.#store.write(lines.map(insertLine), { background: true, touches: [] });
  }

  async markLogTruncated(
    runId: string,
    after: { readonly seq: number; readonly ts: string },
  ): Promise<void> {
    await this.#store.write([insertTruncation(runId, after)], { background: true, touches: [] });
  }

  readLog(
    runId: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<StoredLogPage> {
    return readLog(this.#store, runId, range);
  }

  async recordAudit(record: AuditRecord): Promise<void> {
    await this.#store.write([insertAudit(record)], { touches: [] });
  }

  listAudit(query: AuditQuery): Promise<readonly AuditRecord[]> {
    return listAudit(this.#store, query);
  }

  ping(): Promise<void> {
    return this.#store.ping();
  }

  purge(bounds: PurgeBounds): Promise<Purged> {
    return purge(this.#store, bounds);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function* statusOf(runId: string): SqlScript<StoredRun['status'] | undefined> {
  const [found]: readonly SqlResult[] = yield [{ sql: STATUS, values: [runId], returns: true }];
  const row = found?.rows[0];
  return row === undefined ? undefined : (text(row['status']) as StoredRun['status']);
}
