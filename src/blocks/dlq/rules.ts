import type { Placed } from '../../document/parse/read-blocks.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { RowPlace } from '../define-block.ts';
import type { DlqSpec } from './schema.ts';

const REMEDY = 'add a `dlq` with a `sink`, or choose another policy';

/** Blocks that send records to the dead-letter queue need one. */
export function checkDlq(
  given: Placed<DlqSpec> | undefined,
  row: AssembledRow,
  place: RowPlace,
): void {
  if (given === undefined) {
    for (const { name, path } of place.quarantining) {
      const message = `\`${name}\` sends records to the dead-letter queue, but ${row.name} has no \`dlq\``;
      place.issues.error('dlq_required', path, message, REMEDY);
    }
  }
  if (row.dlq !== undefined) checkWholePages(row, row.dlq, place);
}

/** `dlq_all` on a sink that may have kept part of a failed page writes those records twice. */
function checkWholePages(
  { writes, sink }: AssembledRow,
  dlq: NonNullable<AssembledRow['dlq']>,
  { issues }: RowPlace,
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
