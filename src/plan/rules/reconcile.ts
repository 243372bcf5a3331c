import type { SourceDefinition } from '../../kit/source.ts';
import type { Parts } from '../../kit/parts.ts';
import { reconcileBlock } from '../../blocks/reconcile/index.ts';
import { parsedBlock, type ParsedBlocks } from '../../document/parse/read-blocks.ts';
import { isCut } from '../cut.ts';
import type { IssueList } from '../issue-list.ts';
import type { PartPlanner } from '../plan-part.ts';
import type { ReconcilePlan } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';
import { checkAuthRef } from './auth.ts';

/** What the authority counts is what one whole row writes. */
export function checkReconcile(
  { resolved }: AssembledRow,
  plan: ReconcilePlan | undefined,
  issues: IssueList,
): void {
  if (plan === undefined || (resolved.forEach.length === 0 && !isCut(resolved))) return;
  issues.warn(
    'without_effect',
    'reconcile',
    `${rowName(resolved)} runs several times, and what each time writes is not counted`,
  );
}

/** The source that counts is found and parsed like any other. */
export function planReconcile(
  blocks: ParsedBlocks,
  { parts, planner, issues }: { parts: Parts; planner: PartPlanner; issues: IssueList },
): ReconcilePlan | undefined {
  const spec = parsedBlock(blocks, reconcileBlock)?.value;
  if (spec === undefined) return undefined;
  const { count, tolerance_pct: tolerancePct } = spec;
  const path = 'reconcile.count';
  const config = count.config ?? {};
  const resolved = {
    path,
    template: 'default',
    type: count.type,
    typePath: `${path}.type`,
    config,
    layers: [{ path, config }],
  };
  checkAuthRef(resolved, blocks, issues);
  const source = planner.plan<SourceDefinition>(resolved, parts.sources, 'source');
  return source === undefined
    ? undefined
    : { source: source.plan, countField: count.count_field, tolerancePct };
}
