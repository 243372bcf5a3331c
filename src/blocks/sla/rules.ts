import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockPlace } from '../define-block.ts';
import { needsHistory, type SlaConfig } from './schema.ts';

/** Checks that look back need a place where the past is kept. */
export function checkSla(
  sla: SlaConfig,
  { name, resolved, state }: AssembledRow,
  { path, issues }: BlockPlace,
): void {
  if (!needsHistory(sla)) return;
  if (!resolved.blocks.has('state')) {
    const message = `\`max_staleness_secs\` and \`volume_anomaly\` look at earlier runs, but ${name} has no \`state\``;
    issues.error('state_required', path, message, 'add a `state`, or use `min_rows_per_run` alone');
  } else if (state !== undefined && !state.plan.definition.durable) {
    const message = `the state store \`${state.plan.type}\` forgets everything when the process ends, so there is no history to compare with`;
    issues.warn('state_not_durable', path, message);
  }
}
