import type { Env } from '../../lib/env.ts';
import type { FanOutPlan, PlannedRow } from '../../plan/plan.ts';
import type { InvocationOutcome } from '../../wire/outcome.ts';
import { invocationName, type Iteration } from '../expand/iteration.ts';
import { Tally } from '../row/tally.ts';

/** The outcome of an invocation that never started; `cancelled` unless the caller says otherwise. */
export function notStartedOutcome(
  row: PlannedRow | FanOutPlan,
  iteration: Iteration,
  env: Env,
): InvocationOutcome {
  const now = env.clock.now().toISOString();
  return {
    invocation_id: env.ids.next(),
    row_id: invocationName(row, iteration),
    parent_record_key: iteration.key,
    source: row.source.type,
    sink: row.role === 'discovery' ? '' : row.sink.type,
    status: 'cancelled',
    balance: new Tally().balance(),
    bytes_read: 0,
    pages: 0,
    lane: row.role === 'discovery' ? 'records' : row.lane.lane.form,
    error: null,
    started_at: now,
    finished_at: now,
    duration_ms: 0,
  };
}
