import type { AssembledRow } from '../assembled-row.ts';
import type { IssueList } from '../issue-list.ts';
import type { PlannedRow } from '../plan.ts';

/** A page that is committed with its watermark goes as a whole or not at all. */
export function checkAdaptiveBatch(
  { name, guarantee }: AssembledRow,
  adaptiveBatch: PlannedRow['adaptiveBatch'],
  issues: IssueList,
): void {
  if (adaptiveBatch === undefined || guarantee !== 'effectively-once (atomic watermark)') return;
  const message = `\`adaptive_batch_size\` has no effect for ${name}: with \`exactly_once\` each page is one commit`;
  issues.warn('without_effect', 'execution.adaptive_batch_size', message);
}
