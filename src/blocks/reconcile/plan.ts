import { joinPath } from '../../lib/text/text-path.ts';
import type { Placed } from '../../document/parse/read-blocks.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { PlannedSource } from '../../plan/plan.ts';
import type { BlockPlace, BlockTools, Fact } from '../define-block.ts';
import type { ReconcileSpec } from './schema.ts';

/** Who says how many records there should be. */
export interface ReconcilePlan {
  readonly source: PlannedSource;
  /** The first number of the record when absent. */
  readonly countField: string | undefined;
  readonly tolerancePct: number;
}

export function planReconcile(
  { path, value: { count, tolerance_pct: tolerancePct } }: Placed<ReconcileSpec>,
  { planSource }: BlockTools,
): ReconcilePlan | undefined {
  const source = planSource({ path: joinPath(path, 'count'), value: count });
  return source === undefined ? undefined : { source, countField: count.count_field, tolerancePct };
}

/** What the authority counts is what one whole row writes. */
export function checkReconcile(
  _plan: ReconcilePlan,
  { name, resolved, isCut }: AssembledRow,
  { path, issues }: BlockPlace,
): void {
  if (resolved.forEach.length === 0 && !isCut) return;
  const message = `${name} runs several times, and what each time writes is not counted`;
  issues.warn('without_effect', path, message);
}

export function explainReconcile({ source, tolerancePct }: ReconcilePlan): readonly Fact[] {
  const exact = tolerancePct === 0;
  return [
    {
      topic: 'expects',
      short: `count of ${source.type}${exact ? '' : `, ${tolerancePct} % fewer allowed`}`,
      words: `The run fails when fewer records were written than ${source.type} counts${exact ? '' : `, ${tolerancePct} % less allowed`}.`,
    },
  ];
}
