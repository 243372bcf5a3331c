import { COLUMNS_LANE, RECORDS_LANE } from '../kit/page.ts';
import type { RecordReader } from '../blocks/define-block.ts';
import type { RowBlock } from './plan-blocks.ts';
import type { LaneChoice } from './plan.ts';
import type { AssembledRow } from './assembled-row.ts';

export interface LaneFactors {
  /** The blocks of the row. */
  readonly own: readonly RowBlock[];
  /** Rows that run for the records of this one. */
  readonly children: readonly string[];
}

/**
 * Bytes pass through untouched when both sides speak one encoding and nothing between them looks at
 * records. Stages that can do with cells get columns, up to the first one that needs records.
 */
export function chooseLane(row: AssembledRow, setting: LaneFactors): LaneChoice {
  if (row.resolved.node !== undefined)
    return { lane: RECORDS_LANE, reason: 'records: nodes hand on records' };
  const [first, ...others] = readersOf(row, setting);
  if (first === undefined) return laneWithoutReaders(row);
  if (!first.onColumns || row.reads?.columns !== true)
    return { lane: RECORDS_LANE, reason: `records: ${first.why}` };
  const until = others.find((reader) => !reader.onColumns)?.why ?? sinkNeedsRecords(row);
  const reason = `columns: ${first.why}`;
  if (until !== undefined)
    return { lane: COLUMNS_LANE, reason: `${reason}; records are made because ${until}` };
  if ([first, ...others].some(({ inOrder }) => inOrder === true))
    return { lane: COLUMNS_LANE, reason };
  return {
    lane: COLUMNS_LANE,
    reason: `${reason}; threads can work on several pages at once`,
    sideBySide: true,
  };
}

function laneWithoutReaders({ reads, writes, source, sink }: AssembledRow): LaneChoice {
  if (reads === undefined)
    return { lane: RECORDS_LANE, reason: 'records: the source is known only at run time' };
  if (writes === undefined)
    return { lane: RECORDS_LANE, reason: 'records: the sink is known only at run time' };
  const encoding = reads.encodings.find((name) => writes.encodings.includes(name));
  if (encoding !== undefined)
    return {
      lane: { form: 'bytes', encoding },
      reason: `bytes: source and sink both speak ${encoding}`,
    };
  const types = `\`${source.plan.type}\` and \`${sink.plan.type}\` have no encoding in common`;
  const lost = reads.without?.encodings.some((name) => writes.encodings.includes(name));
  const forbidden = lost === true ? reads.without?.why : undefined;
  if (reads.columns === true && writes.columns === true)
    return { lane: COLUMNS_LANE, reason: `columns: ${forbidden ?? types}` };
  // Parts of other kinds would have nothing in common anyway.
  const why =
    source.plan.type === sink.plan.type
      ? (reads.recordsBecause ?? writes.recordsBecause)
      : undefined;
  return { lane: RECORDS_LANE, reason: `records: ${forbidden ?? why ?? types}` };
}

function sinkNeedsRecords({ writes, sink }: AssembledRow): string | undefined {
  if (writes === undefined) return 'the sink is known only at run time';
  return writes.columns === true ? undefined : `sink \`${sink.plan.type}\` takes records`;
}

function readersOf(row: AssembledRow, { own, children }: LaneFactors): RecordReader[] {
  const [child] = children;
  const readers: (RecordReader | false | undefined)[] = [
    ...row.transforms.map((transform) => ({
      why: `transform \`${transform.plan.type}\` ${whatItReads(transform)}`,
      onColumns:
        transform.judged !== undefined &&
        transform.plan.definition.worksOnColumns?.(transform.judged) === true,
    })),
    ...own.map(({ definition, prepared }) => definition.readsRecords?.(prepared, row)),
    child !== undefined && { why: `row \`${child}\` runs once for each record`, onColumns: false },
  ];
  return readers.filter((reader) => reader !== undefined && reader !== false);
}

function whatItReads({ plan, judged }: AssembledRow['transforms'][number]): string {
  if (judged === undefined) return 'changes records';
  const reads = plan.definition.reads(judged);
  if (reads.kind === 'record' || reads.names.length === 0) return 'changes records';
  return `reads ${reads.names.map((name) => `\`${name}\``).join(', ')}`;
}
