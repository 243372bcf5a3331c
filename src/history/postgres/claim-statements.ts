/** Statements of the cluster: who executes a run, and for how long it is trusted to do so. */

import type { RunPriority } from '../../wire/run-priority.ts';
import type { ClaimRequest } from '../cluster.ts';
import { UNCLAIMED_SHARD } from '../shards.ts';
import { RANKS } from '../sql/priority-rank.ts';
import { HELD } from '../sql/run-statements.ts';
import type { SqlValue } from '../sql/sql-store.ts';

/** Times as `Date.toISOString` writes them, so many milliseconds from now. */
export const TIME_IN = `to_char(clock_timestamp() AT TIME ZONE 'UTC' + ?::float8 * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
export const NOW = TIME_IN.replace('?', '0');

const UNCLAIMED = `status = 'queued' AND owner = ''`;
/** The same, as the index of these runs has it (`0017-unclaimed-by-priority.ts`). */
const IN_QUEUE = `owner || status = 'queued'`;
/** The same once more, written so that no index answers it, as `STILL_QUEUED` is. */
const STILL_UNCLAIMED = `status || owner = 'queued'`;
const NAME = `COALESCE(r.name, '')`;
/** Of the first run in the order of names that fulfils the condition; none where there is none. */
const firstName = (lap: 1 | 2, priority: string, condition: string): string =>
  `(SELECT ${NAME} AS name, ${lap} AS lap FROM svc_serve_runs r WHERE ${IN_QUEUE} AND r.priority = ${priority} AND ${condition} ORDER BY ${NAME} LIMIT 1)`;
/** Its end was asked for: it never starts. */
const STARTS = 'CASE WHEN r.cancel_requested = 0 THEN';
/** What the server that took a run needs of it; the shards of a run are given its submission. */
export const WITH_SUBMISSIONS = `SELECT c.*, s.content, s.document_hash, d.content AS document, s.base_hash, b.content AS base
  FROM claimed c LEFT JOIN svc_serve_submissions s ON s.run_id = COALESCE(c.parent_id, c.run_id)
  LEFT JOIN svc_serve_texts d ON d.hash = s.document_hash LEFT JOIN svc_serve_texts b ON b.hash = s.base_hash`;

const EACH_PRIORITY = Object.values(RANKS)
  .map((rank) => `(${rank}, ?::text)`)
  .join(', ');

/**
 * The names of each priority are found by jumping from one to the next in the index, however many
 * runs each has: in the first lap from the one behind the name that had the last turn to the end, in
 * the second from the beginning to that name. More are looked at than taken, because other servers
 * may be taking the first ones. What it reads grows with the runs that are asked for, never with the
 * queue.
 */
export const CLAIM = `WITH RECURSIVE turns (priority, behind) AS (VALUES ${EACH_PRIORITY}), asked (most, lowest) AS (SELECT ?::integer, ?::integer),
  names (priority, behind, name, lap, n) AS (
    SELECT turns.priority, turns.behind, f.name, f.lap, 1 FROM turns JOIN asked ON turns.priority >= asked.lowest, LATERAL (
      ${firstName(1, 'turns.priority', `${NAME} > turns.behind`)}
      UNION ALL ${firstName(2, 'turns.priority', `${NAME} <= turns.behind`)}
      ORDER BY lap LIMIT 1) AS f
    UNION ALL
    SELECT names.priority, names.behind, f.name, f.lap, names.n + 1 FROM names, asked, LATERAL (
      ${firstName(1, 'names.priority', `names.lap = 1 AND ${NAME} > names.name`)}
      UNION ALL ${firstName(2, 'names.priority', `names.lap = 1 AND ${NAME} <= names.behind`)}
      UNION ALL ${firstName(2, 'names.priority', `names.lap = 2 AND ${NAME} > names.name AND ${NAME} <= names.behind`)}
      ORDER BY lap LIMIT 1) AS f
    WHERE names.n < asked.most * 2
  ), candidates AS MATERIALIZED (
    SELECT c.run_id, c.turn, names.priority, names.n FROM names CROSS JOIN LATERAL (
      SELECT run_id, row_number() OVER (ORDER BY submitted_at, run_id) AS turn FROM (
        SELECT run_id, submitted_at FROM svc_serve_runs r WHERE ${IN_QUEUE} AND r.priority = names.priority AND ${NAME} = names.name
        ORDER BY submitted_at, run_id LIMIT (SELECT most * 2 FROM asked)) AS oldest) AS c
  ), taken AS MATERIALIZED (
    SELECT held.run_id, c.priority, c.turn, c.n FROM (SELECT * FROM candidates ORDER BY priority DESC, turn, n) AS c CROSS JOIN LATERAL (
      SELECT run_id FROM svc_serve_runs WHERE run_id = c.run_id AND ${STILL_UNCLAIMED} FOR UPDATE SKIP LOCKED) AS held
    LIMIT (SELECT most FROM asked)
  ), claimed AS (
    UPDATE svc_serve_runs r SET owner = ?, claims = r.claims + 1, lease_until = ${TIME_IN},
      status = ${STARTS} 'running' ELSE r.status END, started_at = ${STARTS} ${NOW} ELSE r.started_at END
    FROM taken WHERE r.run_id = taken.run_id RETURNING r.*, taken.turn, taken.n
  ) ${WITH_SUBMISSIONS} ORDER BY c.priority DESC, c.turn, c.n`;

/** The values of `CLAIM`. */
export function claimValues({
  owner,
  leaseMs,
  limit,
  behind,
  atLeast = 'low',
}: ClaimRequest): SqlValue[] {
  const priorities = Object.keys(RANKS) as RunPriority[];
  const turns = priorities.map((one) => behind[one] ?? '');
  return [...turns, limit, RANKS[atLeast], owner, leaseMs];
}

export const CLAIM_ONE = `WITH claimed AS (
    UPDATE svc_serve_runs SET owner = ?, claims = claims + 1, lease_until = ${TIME_IN}
    WHERE run_id = ? AND ${STILL_UNCLAIMED} RETURNING *
  ) ${WITH_SUBMISSIONS}`;

const NOBODYS = `CASE WHEN parent_id IS NULL THEN '' ELSE '${UNCLAIMED_SHARD}' END`;
export const RELEASE = `UPDATE svc_serve_runs SET status = 'queued', owner = ${NOBODYS}, started_at = NULL, records_written = ?, invocations = ? WHERE ${HELD}`;

const RUNNING = `status <> 'completed' AND status = 'running'`;
export const BEAT = `INSERT INTO svc_serve_instances (instance_id, host, pid, pid_started, listen, started_at, max_concurrent, in_flight, clustered, seen_at, lease_until)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ${NOW}, ${TIME_IN})
  ON CONFLICT (instance_id) DO UPDATE SET in_flight = excluded.in_flight, seen_at = excluded.seen_at, lease_until = excluded.lease_until`;
export const RENEW = `UPDATE svc_serve_runs SET lease_until = ${TIME_IN} WHERE owner = ? AND ${RUNNING} RETURNING run_id, attempt, cancel_requested, 1 AS is_extended`;
/** Extends what nothing else is changing: never waits, and so is in nobody's way. */
export const RENEW_FREE = `WITH free AS MATERIALIZED (
    SELECT run_id FROM svc_serve_runs WHERE owner = ? AND ${RUNNING} FOR UPDATE SKIP LOCKED
  ), extended AS (
    UPDATE svc_serve_runs r SET lease_until = ${TIME_IN} FROM free WHERE r.run_id = free.run_id RETURNING r.run_id, r.attempt, r.cancel_requested
  )
  SELECT r.run_id, COALESCE(e.attempt, r.attempt) AS attempt, COALESCE(e.cancel_requested, r.cancel_requested) AS cancel_requested,
    CASE WHEN e.run_id IS NULL THEN 0 ELSE 1 END AS is_extended
  FROM svc_serve_runs r LEFT JOIN extended e ON e.run_id = r.run_id WHERE r.owner = ? AND ${RUNNING}`;
/** As `BEAT` for an instance that is known. */
export const BEAT_FREE = `WITH free AS MATERIALIZED (
    SELECT instance_id FROM svc_serve_instances WHERE instance_id = ? FOR UPDATE SKIP LOCKED
  )
  UPDATE svc_serve_instances i SET in_flight = ?, seen_at = ${NOW}, lease_until = ${TIME_IN} FROM free WHERE i.instance_id = free.instance_id`;
export const ALIVE = `SELECT count(*)::integer AS instances FROM svc_serve_instances WHERE clustered = 1 AND lease_until >= ${NOW}`;
export const IS_WAITING = `SELECT EXISTS (SELECT 1 FROM svc_serve_runs WHERE ${UNCLAIMED} AND submitted_at < ${TIME_IN}) AS is_waiting`;
export const MEMBERS = `SELECT *, CASE WHEN clustered = 1 THEN lease_until >= ${NOW} ELSE seen_at >= ${TIME_IN} END AS is_alive
  FROM svc_serve_instances ORDER BY instance_id`;

/** Whoever is in between of writing a run is waited for by nobody: it is looked at again soon. */
export const RECLAIM = `WITH lost AS MATERIALIZED (
    SELECT run_id, attempt < ?::integer AS again FROM svc_serve_runs WHERE ${RUNNING} AND lease_until < ${NOW} FOR UPDATE SKIP LOCKED
  )
  UPDATE svc_serve_runs r SET status = CASE WHEN again THEN 'queued' ELSE 'failed' END, owner = CASE WHEN again THEN ${NOBODYS} ELSE owner END,
    attempt = CASE WHEN again THEN attempt + 1 ELSE attempt END, started_at = CASE WHEN again THEN NULL ELSE started_at END,
    finished_at = CASE WHEN again THEN NULL ELSE ${NOW} END, error = CASE WHEN again THEN NULL ELSE ? END
  FROM lost WHERE r.run_id = lost.run_id RETURNING r.run_id, r.status, r.parent_id`;
export const EXPIRE = `UPDATE svc_serve_runs SET lease_until = '' WHERE owner = ? AND ${RUNNING}`;
/** Also what an instance had claimed to end it, and did not live to do so. */
export const ADOPT_WAITING = `UPDATE svc_serve_runs SET owner = '' WHERE status <> 'completed' AND status = 'queued' AND owner <> ''
  AND (lease_until < ${NOW} OR owner NOT IN (SELECT instance_id FROM svc_serve_instances))
  AND EXISTS (SELECT 1 FROM svc_serve_submissions s WHERE s.run_id = svc_serve_runs.run_id) RETURNING run_id`;

export const ANNOUNCE = `SELECT pg_notify('headgate_' || md5(current_schema()), ?)`;
export const CHANNEL = `SELECT 'headgate_' || md5(current_schema()) AS name`;
