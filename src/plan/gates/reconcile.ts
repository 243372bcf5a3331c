import type { SourceDefinition } from '../../kit/source.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Blocks } from '../../document/read-blocks.ts';
import type { IssueList } from '../issue-list.ts';
import type { PartPlanner } from '../plan-part.ts';
import type { ReconcilePlan } from '../plan.ts';
import { checkAuthRef } from './auth.ts';

/** The source that counts is found and parsed like any other. */
export function planReconcile(
  blocks: Blocks,
  { parts, planner, issues }: { parts: Parts; planner: PartPlanner; issues: IssueList },
): ReconcilePlan | undefined {
  if (blocks.reconcile === undefined) return undefined;
  const { count, tolerance_pct: tolerancePct } = blocks.reconcile;
  const path = 'reconcile.count';
  const config = count.config ?? {};
  const draft = { path, template: 'default', type: count.type, typePath: `${path}.type`, config, layers: [{ path, config }] };
  checkAuthRef(draft, blocks, issues);
  const source = planner.plan<SourceDefinition>(draft, parts.sources, 'source');
  return source === undefined ? undefined : { source: source.plan, countField: count.count_field, tolerancePct };
}
