/** Rules about what follows when records fail again and again (spec 2.12). */
import type { IssueList } from '../issue-list.ts';
import type { RowPlan } from '../plan.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';

export function checkResilience({ draft }: PlannedRow, { poison, breaker }: Pick<RowPlan, 'poison' | 'breaker'>, issues: IssueList): void {
  if (draft.dlq !== undefined) return;
  if (poison?.action === 'dlq') {
    const message = `\`poison\` sends records to the dead-letter queue, but ${rowName(draft)} has no \`dlq\``;
    issues.error('dlq_required', 'resilience.poison', message, 'add a `dlq` with a `sink`, or set `action` to `drop` or `fail`');
  }
  if (breaker !== undefined) {
    const message = `the circuit breaker never opens for ${rowName(draft)}: without a \`dlq\` the first page that fails ends the run`;
    issues.warn('breaker_unused', 'resilience.circuit_breaker', message);
  }
}
