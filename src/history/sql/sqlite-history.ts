import { isTimeOrdered } from '../../lib/ids.ts';
import type { SQLInputValue } from 'node:sqlite';
import type { AuditQuery, AuditRecord } from '../../wire/audit.ts';
import { isTerminal } from '../../wire/run.ts';
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
  RunEnding,
  RunFence,
  RunLogLine,
  StoredLogPage,
  StoredRun,
  StoredRunPage,
  StoredRunQuery,
  StoredSubmission,
} from '../history.ts';
import type { SqliteClient } from './sqlite-client.ts';
import { auditOf, instanceOf, RUN_COLUMNS, runOf, runValues, text, toJson } from './rows.ts';
import { SqlCatalog } from './sql-catalog.ts';
import { SqlOutputs } from './sql-outputs.ts';
import { SqlSchedules } from './sql-schedules.ts';
import { SELECT_SUBMISSION, SqlSubmissions, submissionOf } from './sql-submissions.ts';
import { SqlTemplates } from './sql-templates.ts';
import { SqlTriggers } from './sql-triggers.ts';
import { SqliteStore } from './sqlite-store.ts';

/** Must be worded as in the index of these runs, or SQLite does not use the index. */
const NOT_COMPLETED = `status <> 'completed'`;
const UNFINISHED = `${NOT_COMPLETED} AND status IN ('queued', 'running')`;
const HELD = `run_id = ? AND owner = ? AND attempt = ? AND ${UNFINISHED}`;
const RUN_PLACES = RUN_COLUMNS.map(() => '?').join(', ');
const INSERT_RUN = `INSERT INTO svc_serve_runs (${RUN_COLUMNS.join(', ')}) VALUES (${RUN_PLACES})`;
const START = `UPDATE svc_serve_runs SET status = 'running', started_at = ? WHERE ${HELD} AND status = 'queued'`;
const FINISH = `UPDATE svc_serve_runs SET status = ?, finished_at = ?, records_written = ?, invocations = ?, error = ? WHERE ${HELD}`;
/** Deleted by one statement, which holds up the event loop. */
const PURGE_ROWS = 200;
/** Longer than the commits of other instances take. */
const PING_LOCK_WAIT_MS = 250;
const STORED =
  'EXISTS (SELECT 1 FROM svc_serve_submissions s WHERE s.run_id = svc_serve_runs.run_id)';
/** Runs that no other server can take over fail with their owner. */
const FAIL = `UPDATE svc_serve_runs SET status = 'failed', finished_at = ?, error = ?
  WHERE ${UNFINISHED} AND NOT (status = 'queued' AND ${STORED})`;
const ABANDONED = `${NOT_COMPLETED} AND status = 'queued' AND ${STORED}
  AND (lease_until < ? OR owner NOT IN (SELECT instance_id FROM svc_serve_instances))`;
const ADOPT = `UPDATE svc_serve_runs SET owner = ?, lease_until = ? WHERE run_id IN
  (SELECT run_id FROM svc_serve_runs WHERE ${ABANDONED} ORDER BY submitted_at, run_id LIMIT ?) RETURNING *`;
/** A table and its key. */
interface Table {
  readonly name: string;
  readonly key: string;
}
const IDEM: Table = { name: 'svc_serve_idem', key: 'rowid' };

export class SqliteHistory implements History {
  readonly persistent = true;
  readonly #client: SqliteClient;
  readonly #submissions: SqlSubmissions;
  readonly catalog: SqlCatalog;
  readonly outputs: SqlOutputs;
  readonly templates: SqlTemplates;
  readonly schedules: SqlSchedules;
  readonly triggers: SqlTriggers;

  constructor(client: SqliteClient) {
    this.#client = client;
    this.#submissions = new SqlSubmissions(client);
    const store = new SqliteStore(client);
    this.catalog = new SqlCatalog(store);
    this.outputs = new SqlOutputs(store);
    this.templates = new SqlTemplates(store);
    this.schedules = new SqlSchedules(store);
    this.triggers = new SqlTriggers(store);
  }

  admit(run: StoredRun, options: AdmitOptions): Promise<Admission> {
    return this.#client.write(() => {
      const used = options.claim === undefined ? undefined : this.#claim(options.claim, run);
      if (used !== undefined) return used;
      this.#client.run(INSERT_RUN, ...runValues(run));
      if (options.submission !== undefined)
        this.#submissions.insert(run.run_id, options.submission);
      if (options.audit !== undefined) this.#insertAudit(options.audit);
      return { type: 'admitted' };
    });
  }

  async getRun(runId: string): Promise<StoredRun | undefined> {
    const [row] = await this.#client.read('SELECT * FROM svc_serve_runs WHERE run_id = ?', runId);
    return row === undefined ? undefined : runOf(row);
  }

  async getSubmission(runId: string): Promise<StoredSubmission | undefined> {
    return submissionOf((await this.#client.read(SELECT_SUBMISSION, runId))[0]);
  }

  async listRuns(query: StoredRunQuery): Promise<StoredRunPage> {
    const where = new Conditions();
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
    const rows = await this.#client.read(sql, ...where.values, query.limit + 1);
    return { runs: rows.slice(0, query.limit).map(runOf), more: rows.length > query.limit };
  }

  startRun(fence: RunFence, startedAt: string): Promise<boolean> {
    return this.#client.writeAtOnce(
      () => this.#client.run(START, startedAt, fence.run_id, fence.owner, fence.attempt) === 1,
    );
  }

  finishRun(fence: RunFence, ending: RunEnding): Promise<boolean> {
    const { status, finished_at, records_written, error } = ending;
    const invocations = toJson(ending.invocations);
    const { run_id, owner, attempt } = fence;
    const values = [status, finished_at, records_written, invocations, error];
    return this.#client.write(() => {
      const changed = this.#client.run(FINISH, ...values, run_id, owner, attempt) === 1;
      if (changed && ending.erases_submission === true) this.#submissions.erase([run_id]);
      return changed;
    });
  }

  requestCancel(runId: string): Promise<'requested' | 'terminal' | 'missing'> {
    return this.#client.write(() => {
      const changed = this.#client.run(
        `UPDATE svc_serve_runs SET cancel_requested = 1 WHERE run_id = ? AND ${UNFINISHED}`,
        runId,
      );
      if (changed === 1) return 'requested';
      return this.#statusOf(runId) === undefined ? 'missing' : 'terminal';
    });
  }

  deleteRun(runId: string): Promise<'deleted' | 'in_flight' | 'missing'> {
    return this.#client.write(() => {
      const status = this.#statusOf(runId);
      if (status === undefined) return 'missing';
      if (!isTerminal(status)) return 'in_flight';
      this.#client.run('DELETE FROM svc_serve_idem WHERE run_id = ?', runId);
      this.#client.run('DELETE FROM svc_serve_runs WHERE run_id = ?', runId);
      this.#submissions.erase([runId]);
      return 'deleted';
    });
  }

  renewLeases(
    owner: string,
    leaseUntil: string,
  ): Promise<readonly { run_id: string; cancel_requested: boolean }[]> {
    const sql = `UPDATE svc_serve_runs SET lease_until = ? WHERE owner = ? AND ${UNFINISHED} RETURNING run_id, cancel_requested`;
    return this.#client.write(() =>
      this.#client.all(sql, leaseUntil, owner).map((row) => ({
        run_id: text(row['run_id']),
        cancel_requested: row['cancel_requested'] === 1,
      })),
    );
  }

  failExpired(now: string, error: string): Promise<readonly string[]> {
    return this.#fail(`${FAIL} AND lease_until < ? RETURNING run_id`, now, error, now);
  }

  failRunsOf(owner: string, now: string, error: string): Promise<readonly string[]> {
    return this.#fail(`${FAIL} AND owner = ? RETURNING run_id`, now, error, owner);
  }

  adoptQueued({ owner, leaseUntil, now, limit }: Adoption): Promise<readonly AdoptedRun[]> {
    return this.#client.write(() => {
      const runs = this.#client.all(ADOPT, owner, leaseUntil, now, limit).map(runOf);
      return runs
        .sort((a, b) => (a.submitted_at + a.run_id < b.submitted_at + b.run_id ? -1 : 1))
        .map((run) => ({ run, submission: this.#submissions.of(run.run_id) ?? { content: '' } }));
    });
  }

  async putInstance(instance: Instance): Promise<void> {
    const {
      instance_id,
      host,
      pid,
      pid_started,
      listen,
      started_at,
      seen_at,
      max_concurrent,
      in_flight,
    } = instance;
    const sql = `INSERT INTO svc_serve_instances (instance_id, host, pid, pid_started, listen, started_at, seen_at, max_concurrent, in_flight)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (instance_id) DO UPDATE SET host = excluded.host, pid = excluded.pid, pid_started = excluded.pid_started,
        listen = excluded.listen, started_at = excluded.started_at, seen_at = excluded.seen_at,
        max_concurrent = excluded.max_concurrent, in_flight = excluded.in_flight`;
    await this.#client.write(() =>
      this.#client.run(
        sql,
        instance_id,
        host,
        pid,
        pid_started,
        listen,
        started_at,
        seen_at,
        max_concurrent,
        in_flight,
      ),
    );
  }

  async listInstances(): Promise<readonly Instance[]> {
    return (await this.#client.read('SELECT * FROM svc_serve_instances ORDER BY instance_id')).map(
      instanceOf,
    );
  }

  async removeInstance(instanceId: string): Promise<void> {
    await this.#client.write(() =>
      this.#client.run('DELETE FROM svc_serve_instances WHERE instance_id = ?', instanceId),
    );
  }

  async appendLog(lines: readonly RunLogLine[]): Promise<void> {
    await this.#client.write(
      () => {
        for (const { run_id, seq, ts, level, line } of lines)
          this.#insertLine([run_id, seq, ts, level, line, 0]);
      },
      { background: true },
    );
  }

  async markLogTruncated(
    runId: string,
    after: { readonly seq: number; readonly ts: string },
  ): Promise<void> {
    await this.#client.write(() => this.#insertLine([runId, after.seq + 1, after.ts, '', '', 1]), {
      background: true,
    });
  }

  async readLog(
    runId: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<StoredLogPage> {
    const sql =
      'SELECT seq, ts, level, line, is_truncated FROM svc_serve_run_logs WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?';
    const rows = await this.#client.read(sql, runId, range.after, range.limit + 2);
    const lines = rows
      .filter((row) => row['is_truncated'] === 0)
      .slice(0, range.limit)
      .map((row) => ({
        seq: Number(row['seq']),
        ts: text(row['ts']),
        level: text(row['level']),
        line: text(row['line']),
      }));
    const behind = rows.filter((row) => Number(row['seq']) > (lines.at(-1)?.seq ?? range.after));
    // A mark between lines says nothing at the end of a page: more lines follow.
    const truncated = behind.length > 0 && behind.every((row) => row['is_truncated'] === 1);
    return { lines, truncated };
  }

  async recordAudit(record: AuditRecord): Promise<void> {
    await this.#client.write(() => this.#insertAudit(record));
  }

  async listAudit(query: AuditQuery): Promise<readonly AuditRecord[]> {
    const where = new Conditions();
    if (query.principal !== undefined) where.add('principal = ?', query.principal);
    if (query.action !== undefined) where.add('action = ?', query.action);
    if (query.since !== undefined) where.add('timestamp >= ?', query.since.toISOString());
    if (query.until !== undefined) where.add('timestamp <= ?', query.until.toISOString());
    const sql = `SELECT * FROM svc_serve_audit ${where.text()} ORDER BY timestamp DESC, id DESC LIMIT ?`;
    return (await this.#client.read(sql, ...where.values, query.limit)).map(auditOf);
  }

  async ping(): Promise<void> {
    // A transaction that changes nothing, but needs the lock that every write needs.
    await this.#client.writeAtOnce(
      () => this.#client.all('SELECT 1 FROM svc_serve_migrations LIMIT 1'),
      { lockWaitMs: PING_LOCK_WAIT_MS },
    );
  }

  async purge(bounds: PurgeBounds): Promise<Purged> {
    const { runsBefore, claimsBefore, auditBefore, logsBefore, instancesBefore } = bounds;
    const claimsOfRuns = 'run_id IN (SELECT run_id FROM svc_serve_runs WHERE finished_at < ?)';
    const claims = await this.#purge(IDEM, claimsOfRuns, runsBefore);
    return {
      runs: await this.#purgeRuns(runsBefore),
      claims: claims + (await this.#purge(IDEM, 'claimed_at < ?', claimsBefore)),
      audit: await this.#purge(
        { name: 'svc_serve_audit', key: 'timestamp, id' },
        'timestamp < ?',
        auditBefore,
      ),
      logs: await this.#purge(
        { name: 'svc_serve_run_logs', key: 'run_id, seq' },
        'ts < ?',
        logsBefore,
      ),
      instances: await this.#purge(
        { name: 'svc_serve_instances', key: 'rowid' },
        'seen_at < ?',
        instancesBefore,
      ),
    };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Undefined when the key is now ours. */
  #claim(claim: Claim, run: StoredRun): Admission | undefined {
    const [held] = this.#client.all(
      'SELECT fingerprint, run_id, claimed_at FROM svc_serve_idem WHERE idem_key = ?',
      claim.key,
    );
    if (held !== undefined && text(held['claimed_at']) > claim.expired_at_or_before) {
      if (held['fingerprint'] !== claim.fingerprint) return { type: 'mismatch' };
      const [row] = this.#client.all(
        'SELECT * FROM svc_serve_runs WHERE run_id = ?',
        text(held['run_id']),
      );
      return { type: 'replay', run: row === undefined ? undefined : runOf(row) };
    }
    this.#client.run(
      `INSERT INTO svc_serve_idem (idem_key, fingerprint, run_id, claimed_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (idem_key) DO UPDATE SET fingerprint = excluded.fingerprint, run_id = excluded.run_id, claimed_at = excluded.claimed_at`,
      claim.key,
      claim.fingerprint,
      run.run_id,
      run.submitted_at,
    );
    return undefined;
  }

  /** With their submissions; in parts, like everything that is purged. */
  async #purgeRuns(before: string | undefined): Promise<number> {
    if (before === undefined) return 0;
    const sql = `DELETE FROM svc_serve_runs WHERE rowid IN
      (SELECT rowid FROM svc_serve_runs WHERE finished_at < ? LIMIT ${PURGE_ROWS}) RETURNING run_id`;
    for (let total = 0; ;) {
      const removed = await this.#client.write(() => {
        const ids = this.#client.all(sql, before).map((row) => text(row['run_id']));
        this.#submissions.erase(ids);
        return ids.length;
      });
      total += removed;
      if (removed < PURGE_ROWS) return total;
    }
  }

  /** In parts: the event loop and other writers get their turn. */
  async #purge(
    { name, key }: Table,
    condition: string,
    before: string | undefined,
  ): Promise<number> {
    if (before === undefined) return 0;
    const sql = `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE ${condition} LIMIT ${PURGE_ROWS})`;
    for (let total = 0; ;) {
      const removed = await this.#client.write(() => this.#client.run(sql, before));
      total += removed;
      if (removed < PURGE_ROWS) return total;
    }
  }

  #fail(sql: string, now: string, error: string, bound: string): Promise<string[]> {
    return this.#client.write(() =>
      this.#client.all(sql, now, error, bound).map((row) => text(row['run_id'])),
    );
  }

  #statusOf(runId: string): StoredRun['status'] | undefined {
    const [row] = this.#client.all('SELECT status FROM svc_serve_runs WHERE run_id = ?', runId);
    return row === undefined ? undefined : (text(row['status']) as StoredRun['status']);
  }

  #insertLine(values: readonly SQLInputValue[]): void {
    this.#client.run(
      `INSERT INTO svc_serve_run_logs (run_id, seq, ts, level, line, is_truncated) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (run_id, seq) DO NOTHING`,
      ...values,
    );
  }

  #insertAudit(record: AuditRecord): void {
    this.#client.run(
      `INSERT INTO svc_serve_audit (id, timestamp, principal, role, action, result, run_id, config_fingerprint, source_ip)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      record.id,
      record.timestamp,
      record.principal,
      record.role,
      record.action,
      record.result,
      record.run_id ?? null,
      record.config_fingerprint ?? null,
      record.source_ip ?? null,
    );
  }
}

class Conditions {
  readonly values: SQLInputValue[] = [];
  readonly #parts: string[] = [];

  add(condition: string, ...values: SQLInputValue[]): void {
    this.#parts.push(condition);
    this.values.push(...values);
  }

  text(): string {
    return this.#parts.length === 0 ? '' : `WHERE ${this.#parts.join(' AND ')}`;
  }
}
