/** Rules about what follows when records fail again and again (spec 2.12). */
import type { IssueList } from '../issue-list.ts';
import type { RowPlan } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';
import type { ResolvedRow } from '../resolve-rows.ts';
import { guaranteeOf } from './delivery.ts';

export function checkResilience(
  row: AssembledRow,
  setting: Pick<RowPlan, 'poison' | 'breaker' | 'adaptiveBatch'>,
  issues: IssueList,
): void {
  const { resolved } = row;
  const { poison, breaker } = setting;
  if (guaranteeOf(row) === 'effectively-once (atomic watermark)')
    warnAboutCommits(resolved, setting, issues);
  if (resolved.dlq !== undefined) return;
  if (poison?.action === 'dlq') {
    const message = `\`poison\` sends records to the dead-letter queue, but ${rowName(resolved)} has no \`dlq\``;
    issues.error(
      'dlq_required',
      'resilience.poison',
      message,
      'add a `dlq` with a `sink`, or set `action` to `drop` or `fail`',
    );
  }
  if (breaker !== undefined) {
    const message = `the circuit breaker never opens for ${rowName(resolved)}: without a \`dlq\` the first page that fails ends the run`;
    issues.warn('breaker_unused', 'resilience.circuit_breaker', message);
  }
}

/** A page that is committed with its watermark goes as a whole or not at all. */
function warnAboutCommits(
  resolved: ResolvedRow,
  { poison, adaptiveBatch }: Pick<RowPlan, 'poison' | 'adaptiveBatch'>,
  issues: IssueList,
): void {
  const why = `has no effect for ${rowName(resolved)}: with \`exactly_once\` each page is one commit`;
  if (poison !== undefined) issues.warn('without_effect', 'resilience.poison', `\`poison\` ${why}`);
  if (adaptiveBatch !== undefined)
    issues.warn(
      'without_effect',
      'execution.adaptive_batch_size',
      `\`adaptive_batch_size\` ${why}`,
    );
}
