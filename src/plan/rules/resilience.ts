/** Rules about what follows when records fail again and again (spec 2.12). */
import type { IssueList } from '../issue-list.ts';
import type { RowPlan } from '../plan.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';
import type { RowDraft } from '../row-drafts.ts';
import { guaranteeOf } from './delivery.ts';

export function checkResilience(
  row: PlannedRow,
  setting: Pick<RowPlan, 'poison' | 'breaker' | 'adaptiveBatch'>,
  issues: IssueList,
): void {
  const { draft } = row;
  const { poison, breaker } = setting;
  if (guaranteeOf(row) === 'effectively-once (atomic watermark)')
    warnAboutCommits(draft, setting, issues);
  if (draft.dlq !== undefined) return;
  if (poison?.action === 'dlq') {
    const message = `\`poison\` sends records to the dead-letter queue, but ${rowName(draft)} has no \`dlq\``;
    issues.error(
      'dlq_required',
      'resilience.poison',
      message,
      'add a `dlq` with a `sink`, or set `action` to `drop` or `fail`',
    );
  }
  if (breaker !== undefined) {
    const message = `the circuit breaker never opens for ${rowName(draft)}: without a \`dlq\` the first page that fails ends the run`;
    issues.warn('breaker_unused', 'resilience.circuit_breaker', message);
  }
}

/** A page that is committed with its watermark goes as a whole or not at all. */
function warnAboutCommits(
  draft: RowDraft,
  { poison, adaptiveBatch }: Pick<RowPlan, 'poison' | 'adaptiveBatch'>,
  issues: IssueList,
): void {
  const why = `has no effect for ${rowName(draft)}: with \`exactly_once\` each page is one commit`;
  if (poison !== undefined) issues.warn('without_effect', 'resilience.poison', `\`poison\` ${why}`);
  if (adaptiveBatch !== undefined)
    issues.warn(
      'without_effect',
      'execution.adaptive_batch_size',
      `\`adaptive_batch_size\` ${why}`,
    );
}
