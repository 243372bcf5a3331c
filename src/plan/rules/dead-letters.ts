/** Rules about the dead-letter queue (spec 2.2, 2.11). */
import { contractQuarantines } from '../../blocks/contract/schema.ts';
import { qualityQuarantines } from '../../blocks/quality/schema.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { IssueList } from '../issue-list.ts';
import type { Governance } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';

const REMEDY = 'add a `dlq` with a `sink`, or choose another policy';

export function checkDeadLetters(
  row: AssembledRow,
  governance: Governance,
  issues: IssueList,
): void {
  const { quality, contract } = governance;
  if (row.resolved.dlq === undefined) {
    const missing = `sends records to the dead-letter queue, but ${rowName(row.resolved)} has no \`dlq\``;
    if (quality !== undefined && qualityQuarantines(quality))
      issues.error('dlq_required', 'pipeline.quality', `\`quality\` ${missing}`, REMEDY);
    if (contract !== undefined && contractQuarantines(contract))
      issues.error('dlq_required', 'pipeline.contract', `\`contract\` ${missing}`, REMEDY);
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
