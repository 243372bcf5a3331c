/** Whose runs are whose, and what becomes of those whose owner is gone. */
import type { AdoptedRun, Adoption } from '../history.ts';
import { byTurn } from '../turns.ts';
import { NOT_COMPLETED, UNFINISHED } from './run-statements.ts';
import { runOf, text } from './rows.ts';
import type { SqlDialect, SqlScript, SqlValue } from './sql-store.ts';
import { SELECT_SUBMISSION, submissionOf } from './sql-submissions.ts';

const STORED =
  'EXISTS (SELECT 1 FROM svc_serve_submissions s WHERE s.run_id = svc_serve_runs.run_id)';
const RENEW = `UPDATE svc_serve_runs SET lease_until = ? WHERE owner = ? AND ${UNFINISHED} RETURNING run_id, cancel_requested`;
/** Runs that no other server can take over fail with their owner. */
const FAIL = `UPDATE svc_serve_runs SET status = 'failed', finished_at = ?, error = ?
  WHERE ${UNFINISHED} AND NOT (status = 'queued' AND ${STORED})`;
export const FAIL_EXPIRED = `${FAIL} AND lease_until < ? RETURNING run_id`;
export const FAIL_RUNS_OF = `${FAIL} AND owner = ? RETURNING run_id`;
const ABANDONED = `${NOT_COMPLETED} AND status = 'queued' AND ${STORED}
  AND (lease_until < ? OR owner NOT IN (SELECT instance_id FROM svc_serve_instances))`;

export function* renewal(
  owner: string,
  leaseUntil: string,
): SqlScript<readonly { run_id: string; cancel_requested: boolean }[]> {
  const [renewed] = yield [{ sql: RENEW, values: [leaseUntil, owner], returns: true }];
  return (renewed?.rows ?? []).map((row) => ({
    run_id: text(row['run_id']),
    cancel_requested: row['cancel_requested'] === 1,
  }));
}

export function* failure(sql: string, values: readonly SqlValue[]): SqlScript<readonly string[]> {
  const [failed] = yield [{ sql, values, returns: true }];
  return (failed?.rows ?? []).map((row) => text(row['run_id']));
}

export function* adoption(
  { lockRows, inTurn }: SqlDialect,
  { owner, leaseUntil, now, limit }: Adoption,
): SqlScript<readonly AdoptedRun[]> {
  const sql = `UPDATE svc_serve_runs SET owner = ?, lease_until = ? WHERE run_id IN
    (SELECT run_id FROM svc_serve_runs ${inTurn} WHERE ${ABANDONED} ORDER BY priority DESC, submitted_at, run_id LIMIT ? ${lockRows}) RETURNING *`;
  const [adopted] = yield [{ sql, values: [owner, leaseUntil, now, limit], returns: true }];
  const runs = (adopted?.rows ?? []).map(runOf).sort(byTurn);
  const submissions = yield runs.map(({ run_id }) => ({
    sql: SELECT_SUBMISSION,
    values: [run_id],
    returns: true,
  }));
  return runs.map((run, index) => ({
    run,
    submission: submissionOf(submissions[index]?.rows[0]) ?? { content: '' },
  }));
}
