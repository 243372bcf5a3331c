/** How often a row runs and for which values, as `plan` and `explain` print it. */
import type { FanOutPlan, PlannedRow } from '../../plan/plan.ts';

/** `once for each value of a and b`; `undefined` for a row that runs once. */
export function timesOf({
  parent,
  forEach,
}: Pick<PlannedRow, 'parent' | 'forEach'>): string | undefined {
  if (parent !== undefined) return `once for every record of row ${parent.row}`;
  if (forEach.length === 0) return undefined;
  return forEach.length === 1
    ? `once for each value of row ${forEach[0]}`
    : `once for each combination of the values of rows ${forEach.join(', ')}`;
}

/** What a fan-out row does, in one sentence. */
export function formatFanOut(row: FanOutPlan): string {
  const per =
    row.forEach.length === 0
      ? ''
      : `, ${timesOf({ parent: undefined, forEach: row.forEach })}, as one text each`;
  return `Lists the different values of \`${row.select.length === 0 ? '$' : row.select.join('.')}\` from ${row.source.type} as \${${row.id}.${row.alias}}${per}.`;
}
