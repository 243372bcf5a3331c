/** What a row promises about repeated records, and whether its parts can keep it (spec 2.10). */
import { isKeyed } from '../../kit/write-spec.ts';
import type { IssueList } from '../issue-list.ts';
import type { Guarantee } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';

type Judged = Omit<AssembledRow, 'guarantee'>;

/**
 * Judged from the parts; watermarks are committed only where the document asks for `exactly_once`.
 */
export function guaranteeOf(row: Judged): Guarantee {
  if (row.resolved.delivery === 'exactly_once' && limitOf(row) === undefined)
    return 'effectively-once (atomic watermark)';
  return isKeyedRow(row) ? 'effectively-once (keyed upsert)' : 'at-least-once';
}

export function checkDelivery(row: AssembledRow, issues: IssueList): void {
  if (row.resolved.delivery !== 'exactly_once') return;
  const path = row.resolved.deliveryPath;
  // A graph goes on from one position: what its sinks hold has to be known page by page, keyed or
  // not.
  if (row.writes === undefined || (isKeyedRow(row) && row.resolved.node === undefined)) return;
  const limit = limitOf(row);
  if (limit === undefined) return;
  issues.error(
    'exactly_once_unreachable',
    path,
    `${rowName(row.resolved)} cannot deliver exactly once: ${limit}`,
    upsertHint(row),
  );
}

function isKeyedRow({ writes }: Judged): boolean {
  return writes !== undefined && isKeyed(writes.writeMode) && writes.key.length > 0;
}

/** The first leg of the atomic watermark path that is missing. */
function limitOf(row: Judged): string | undefined {
  const { reads, writes, state, source, sink } = row;
  if (row.resolved.node?.exactlyOnceLimit !== undefined) return row.resolved.node.exactlyOnceLimit;
  if (writes?.writeMode === 'overwrite')
    return 'its sink replaces everything (`write_mode: overwrite`), and pages cannot be distinguished';
  if (reads?.replay !== 'positional')
    return `its source \`${source.plan.type}\` cannot be read again from an exact position`;
  if (writes?.token !== true)
    return `its sink \`${sink.plan.type}\` cannot store a watermark together with the records`;
  if (state === undefined) return 'it has no `state`';
  if (!state.plan.definition.durable)
    return `its state store \`${state.plan.type}\` does not survive the process`;
  if (row.dlq !== undefined) return 'it has a `dlq`, which is written apart from the records';
  return undefined;
}

function upsertHint({ resolved, writes, sink }: AssembledRow): string | undefined {
  if (writes?.writeModes.includes('upsert') !== true) return undefined;
  if (resolved.node !== undefined)
    return '`at_least_once` with `write_mode: upsert` and a `key` makes repeats harmless';
  return `give the sink \`${sink.plan.type}\` \`write_mode: upsert\` and a \`key\``;
}
