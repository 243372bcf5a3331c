/** Statements on runs that are read in shards. */
import { SHARDED, UNCLAIMED_SHARD } from '../shards.ts';
import { insertInto } from '../sql/sql-store.ts';
import { HELD, STILL_RUNNING, UNFINISHED } from '../sql/run-statements.ts';
import { NOW, TIME_IN, WITH_SUBMISSIONS } from './claim-statements.ts';

/** No server is late with it. */
const NEVER = '9999-12-31T23:59:59.999Z';

export const SPLIT = `UPDATE svc_serve_runs SET owner = '${SHARDED}', lease_until = '${NEVER}' WHERE ${HELD} AND ${STILL_RUNNING} RETURNING *`;
export const insertShard = insertInto('svc_serve_runs', {
  run_id: 'text',
  parent_id: 'text',
  shard: 'text',
  name: 'text',
  labels: 'text',
  status: 'text',
  submitted_at: 'text',
  records_written: 'bigint',
  invocations: 'text',
  attempt: 'integer',
  owner: 'text',
  lease_until: 'text',
  cancel_requested: 'integer',
  priority: 'integer',
});

export const CLAIM_SHARDS = `WITH taken AS MATERIALIZED (
    SELECT run_id FROM svc_serve_runs WHERE status = 'queued' AND owner = '${UNCLAIMED_SHARD}' AND priority >= ?::integer
    ORDER BY priority DESC, submitted_at, run_id LIMIT ?::integer FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE svc_serve_runs r SET owner = ?, claims = r.claims + 1, lease_until = ${TIME_IN}, status = 'running', started_at = ${NOW}
    FROM taken WHERE r.run_id = taken.run_id
    RETURNING r.*, (SELECT p.started_at FROM svc_serve_runs p WHERE p.run_id = r.parent_id) AS run_started_at
  ) ${WITH_SUBMISSIONS}`;

export const WAITING_PRIORITIES = `SELECT DISTINCT priority FROM svc_serve_runs WHERE status = 'queued' AND owner = '${UNCLAIMED_SHARD}' ORDER BY priority DESC`;

/**
 * Whoever ends a shard waits here for others that end one of the same run: the last of them then
 * sees that it is the last.
 */
export const LOCK_PARENT = `SELECT * FROM svc_serve_runs WHERE run_id = ? AND owner = '${SHARDED}' AND ${STILL_RUNNING} FOR UPDATE`;
export const PARENT_OF = 'SELECT parent_id FROM svc_serve_runs WHERE run_id = ?';
export const COUNT_OPEN = `SELECT count(*)::integer AS open FROM svc_serve_runs WHERE parent_id = ? AND ${UNFINISHED}`;
export const SHARDS_OF = 'SELECT * FROM svc_serve_runs WHERE parent_id = ?';
export const END_PARENT = `UPDATE svc_serve_runs SET status = ?, finished_at = ${NOW}, records_written = ?, invocations = ?, error = ?
  WHERE run_id = ? AND owner = '${SHARDED}' AND ${STILL_RUNNING} RETURNING *`;

export const CANCEL_UNCLAIMED = `UPDATE svc_serve_runs SET status = 'cancelled', finished_at = ${NOW}, cancel_requested = 1
  WHERE parent_id = ? AND status = 'queued' AND owner IN ('', '${UNCLAIMED_SHARD}')`;
export const CANCEL_CLAIMED = `UPDATE svc_serve_runs SET cancel_requested = 1 WHERE parent_id = ? AND ${UNFINISHED} RETURNING run_id`;
/** Every heartbeat asks: mostly there are none. */
export const OPEN_PARENTS = `SELECT p.run_id FROM svc_serve_runs p WHERE p.owner = '${SHARDED}' AND p.status IN ('queued', 'running')
  AND (NOT EXISTS (SELECT 1 FROM svc_serve_runs s WHERE s.parent_id = p.run_id AND s.status <> 'completed' AND s.status IN ('queued', 'running'))
    OR p.cancel_requested = 1 AND EXISTS (SELECT 1 FROM svc_serve_runs s WHERE s.parent_id = p.run_id AND s.status <> 'completed'
      AND s.status IN ('queued', 'running') AND s.cancel_requested = 0))`;

export const progressOf = (
  parents: number,
): string => `SELECT parent_id, count(*)::integer AS total, sum(records_written)::bigint AS records_written,
    count(*) FILTER (WHERE status = 'completed')::integer AS completed, count(*) FILTER (WHERE status = 'failed')::integer AS failed,
    count(*) FILTER (WHERE status = 'cancelled')::integer AS cancelled, count(*) FILTER (WHERE status = 'running')::integer AS running,
    count(*) FILTER (WHERE status = 'queued')::integer AS pending
  FROM svc_serve_runs WHERE parent_id IN (${Array.from({ length: parents }, () => '?').join(', ')}) GROUP BY parent_id`;
