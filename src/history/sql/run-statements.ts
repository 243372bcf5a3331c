/** Statements on runs, for every database. */
import type { RunEnding, RunFence, StoredRun } from '../history.ts';
import { RUN_COLUMNS, runValues, throughputColumn } from './rows.ts';
import { insertInto, type SqlStatement } from './sql-store.ts';

/** Must be worded as in the index of these runs, or SQLite does not use the index. */
export const NOT_COMPLETED = `status <> 'completed'`;
export const UNFINISHED = `${NOT_COMPLETED} AND status IN ('queued', 'running')`;
/**
 * Of a run that is found by its id: written so that no index answers it. A planner that takes the
 * unfinished runs for few, because nobody has analyzed the table since it grew, would otherwise read
 * all of them for each run that starts or ends.
 */
const STATUS = `status || ''`;
export const STILL_QUEUED = `${STATUS} = 'queued'`;
export const STILL_RUNNING = `${STATUS} = 'running'`;
export const STILL_UNFINISHED = `${STATUS} IN ('queued', 'running')`;
/** The run of a fence. */
export const HELD = `run_id = ? AND owner = ? AND attempt = ? AND ${STILL_UNFINISHED}`;
/** The same for the rows `v` of a statement for many. */
const ALL_HELD = `r.run_id = v.run_id AND r.owner = v.owner AND r.attempt = v.attempt AND r.${STILL_UNFINISHED}`;
const FENCE_ARRAYS = '?::text[], ?::text[], ?::integer[]';

const START = `UPDATE svc_serve_runs SET status = 'running', started_at = ? WHERE ${HELD} AND ${STILL_QUEUED}`;
const START_MANY = `UPDATE svc_serve_runs r SET status = 'running', started_at = v.started_at
  FROM unnest(?::text[], ${FENCE_ARRAYS}) AS v (started_at, run_id, owner, attempt)
  WHERE ${ALL_HELD} AND r.${STILL_QUEUED} RETURNING r.run_id AS key`;
const RETURN = `UPDATE svc_serve_runs SET status = 'queued', started_at = NULL WHERE ${HELD} AND ${STILL_RUNNING}`;
const FINISH = `UPDATE svc_serve_runs SET status = ?, finished_at = ?, records_written = ?, invocations = ?, error = ? WHERE ${HELD}`;
const FINISH_MANY = `UPDATE svc_serve_runs r SET status = v.status, finished_at = v.finished_at, records_written = v.records_written,
    invocations = v.invocations, error = v.error
  FROM unnest(?::text[], ?::text[], ?::bigint[], ?::text[], ?::text[], ${FENCE_ARRAYS})
    AS v (status, finished_at, records_written, invocations, error, run_id, owner, attempt)
  WHERE ${ALL_HELD} RETURNING r.run_id AS key`;

const HOLD = `UPDATE svc_serve_runs SET owner = owner WHERE ${HELD}`;
const HOLD_MANY = `UPDATE svc_serve_runs r SET owner = r.owner FROM unnest(${FENCE_ARRAYS}) AS v (run_id, owner, attempt)
  WHERE ${ALL_HELD} RETURNING r.run_id AS key`;

/**
 * Of a table of a thousand rows PostgreSQL rather reads all for a list of runs: 1.3 ms for two of them, where one by its
 * id takes 0.1 ms.
 */
const MANY = 8;

const insert = insertInto('svc_serve_runs', RUN_COLUMNS);

export function insertRun(run: StoredRun): SqlStatement {
  return insert(runValues(run));
}

/**
 * Changes nothing. Until the end of the transaction nobody can take the run over; without a row it is
 * not that of this execution.
 */
export function holdRun({ run_id, owner, attempt }: RunFence): SqlStatement {
  return {
    sql: HOLD,
    values: [run_id, owner, attempt],
    many: { sql: HOLD_MANY, keyAt: 0, atLeast: MANY },
  };
}

export function startRun({ run_id, owner, attempt }: RunFence, startedAt: string): SqlStatement {
  return {
    sql: START,
    values: [startedAt, run_id, owner, attempt],
    many: { sql: START_MANY, keyAt: 1, atLeast: MANY },
  };
}

export function returnToQueue({ run_id, owner, attempt }: RunFence): SqlStatement {
  return { sql: RETURN, values: [run_id, owner, attempt] };
}

export function finishRun({ run_id, owner, attempt }: RunFence, ending: RunEnding): SqlStatement {
  const { status, finished_at, records_written, error } = ending;
  const end = [status, finished_at, records_written, throughputColumn(ending), error];
  return {
    sql: FINISH,
    values: [...end, run_id, owner, attempt],
    many: { sql: FINISH_MANY, keyAt: 5, atLeast: MANY },
  };
}
