import type { SourceDefinition } from '../../kit/source.ts';
import type { Parts } from '../../kit/parts.ts';
import { reconcileBlock } from '../../blocks/reconcile/index.ts';
import { parsedBlock, type ParsedBlocks } from '../../document/parse/read-blocks.ts';
import { isCut } from '../cut.ts';
import type { IssueList } from '../issue-list.ts';
import type { PartPlanner } from '../plan-part.ts';
import type { ReconcilePlan } from '../plan.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';
import { checkAuthRef } from './auth.ts';

/** What the authority counts is what one whole row writes. */
export function checkReconcile(
  { draft }: PlannedRow,
  plan: ReconcilePlan | undefined,
  issues: IssueList,
): void {
  if (plan === undefined || (draft.forEach.length === 0 && !isCut(draft))) return;
  issues.warn(
    'without_effect',
    'reconcile',
    `${rowName(draft)} runs several times, and what each time writes is not counted`,
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
  const draft = {
    path,
    template: 'default',
    type: count.type,
    typePath: `${path}.type`,
    config,
    layers: [{ path, config }],
  };
  checkAuthRef(draft, blocks, issues);
  const source = planner.plan<SourceDefinition>(draft, parts.sources, 'source');
  return source === undefined
    ? undefined
    : { source: source.plan, countField: count.count_field, tolerancePct };
}
