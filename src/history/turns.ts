/** The order in which runs that wait begin. */
import { priorityOf, RUN_PRIORITIES } from '../wire/run-priority.ts';
import type { StoredRun } from './history.ts';

/** Those of a higher priority first, and of one priority the oldest. */
export function byTurn(a: StoredRun, b: StoredRun): number {
  const [first, second] = [a, b].map((run) => RUN_PRIORITIES.indexOf(priorityOf(run)));
  if (first !== second) return (first ?? 0) - (second ?? 0);
  if (a.submitted_at !== b.submitted_at) return a.submitted_at < b.submitted_at ? -1 : 1;
  return a.run_id < b.run_id ? -1 : 1;
}
