/** Rules about the dead-letter queue. */
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../assembled-row.ts';
import type { IssueList } from '../issue-list.ts';
import { quarantining, type RowBlock } from '../plan-blocks.ts';

const REMEDY = 'add a `dlq` with a `sink`, or choose another policy';

export function checkDeadLetters(
  row: AssembledRow,
  own: readonly RowBlock[],
  issues: IssueList,
): void {
  if (row.resolved.dlq === undefined) {
    for (const { definition, path } of quarantining(own)) {
      const message = `\`${definition.name}\` sends records to the dead-letter queue, but ${row.name} has no \`dlq\``;
      issues.error('dlq_required', path, message, REMEDY);
    }
  }
  if (row.dlq !== undefined) checkWholePages(row, row.dlq, issues);
}

/** `dlq_all` on a sink that may have kept part of a failed page writes those records twice. */
function checkWholePages(
  { writes, sink }: AssembledRow,
  dlq: NonNullable<AssembledRow['dlq']>,
  issues: IssueList,
): void {
  if (dlq.spec.on_batch_error !== 'dlq_all' || dlq.spec.allow_duplicates_on_dlq_all) return;
  if (writes === undefined || writes.atomicity !== 'best_effort' || writes.idempotent) return;
  const path = joinPath(dlq.path, 'on_batch_error');
  const message = `part of a failed page may already be in \`${sink.plan.type}\`, so \`dlq_all\` would keep those records twice`;
  issues.error(
    'dlq_all_unsafe',
    path,
    message,
    'use `propagate`, or accept it with `allow_duplicates_on_dlq_all: true`',
  );
}
