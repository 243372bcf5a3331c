import { needsHistory } from '../../blocks/sla/schema.ts';
import type { IssueList } from '../issue-list.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';

/** Checks that look back need a place where the past is kept. */
export function checkSla({ resolved, state }: AssembledRow, issues: IssueList): void {
  const { sla } = resolved;
  if (sla === undefined || !needsHistory(sla.value)) return;
  if (resolved.state === undefined) {
    const message = `\`max_staleness_secs\` and \`volume_anomaly\` look at earlier runs, but ${rowName(resolved)} has no \`state\``;
    issues.error(
      'state_required',
      sla.path,
      message,
      'add a `state`, or use `min_rows_per_run` alone',
    );
  } else if (state !== undefined && !state.plan.definition.durable) {
    const message = `the state store \`${state.plan.type}\` forgets everything when the process ends, so there is no history to compare with`;
    issues.warn('state_not_durable', sla.path, message);
  }
}
