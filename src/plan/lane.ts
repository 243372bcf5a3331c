import { RECORDS_LANE } from '../kit/page.ts';
import type { Governance, LaneChoice, RowPlan } from './plan.ts';
import type { PlannedRow } from './planned-row.ts';

export interface LaneSetting {
  readonly governance: Governance;
  readonly metadataColumns: RowPlan['metadataColumns'];
  /** Rows that run for the records of this one. */
  readonly children: readonly string[];
}

/** Bytes pass through untouched when both sides speak one encoding and nothing between them looks at records. */
export function chooseLane(row: PlannedRow, setting: LaneSetting): LaneChoice {
  const obstacle = readerOf(row, setting);
  if (obstacle !== undefined) return { lane: RECORDS_LANE, reason: `records: ${obstacle}` };
  const { reads, writes } = row;
  if (reads === undefined) return { lane: RECORDS_LANE, reason: 'records: the source is known only at run time' };
  if (writes === undefined) return { lane: RECORDS_LANE, reason: 'records: the sink is known only at run time' };
  const encoding = reads.encodings.find((name) => writes.encodings.includes(name));
  if (encoding !== undefined) return { lane: { form: 'bytes', encoding }, reason: `bytes: source and sink both speak ${encoding}` };
  const types = `\`${row.source.plan.type}\` and \`${row.sink.plan.type}\``;
  return { lane: RECORDS_LANE, reason: `records: ${types} have no encoding in common` };
}

/** The first stage that needs records. */
function readerOf(row: PlannedRow, { governance, metadataColumns, children }: LaneSetting): string | undefined {
  const [masking, quality, contract] = [governance.masking, governance.quality, governance.contract];
  const [transform] = row.transforms;
  if (transform !== undefined) return `transform \`${transform.plan.type}\` ${whatItReads(transform)}`;
  if (masking !== undefined) return '`masking` looks at every field';
  if (quality !== undefined) return '`quality` checks every record';
  if (contract !== undefined) return '`contract` checks every record';
  if (governance.schema !== undefined && row.writes?.schema !== 'none') return '`schema` compares every record with the destination';
  if (metadataColumns !== undefined) return '`metadata_columns` adds fields to every record';
  const [child] = children;
  return child === undefined ? undefined : `row \`${child}\` runs once for each record`;
}

function whatItReads({ plan, judged }: PlannedRow['transforms'][number]): string {
  if (judged === undefined) return 'changes records';
  const reads = plan.definition.reads(judged);
  if (reads.kind === 'record' || reads.names.length === 0) return 'changes records';
  return `reads ${reads.names.map((name) => `\`${name}\``).join(', ')}`;
}
