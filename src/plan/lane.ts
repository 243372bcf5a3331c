import { COLUMNS_LANE, RECORDS_LANE } from '../kit/page.ts';
import { qualityNeedsRecords } from '../blocks/quality/schema.ts';
import type { Governance, LaneChoice, RowPlan } from './plan.ts';
import type { AssembledRow } from './assembled-row.ts';

export interface LaneFactors {
  readonly governance: Governance;
  readonly metadataColumns: RowPlan['metadataColumns'];
  readonly rollback: { readonly enabled: boolean } | undefined;
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
  // A contract that only warns does so once a row.
  if (setting.governance.contract?.on_breach === 'warn') return { lane: COLUMNS_LANE, reason };
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
  const columns = reads.columns === true && writes.columns === true;
  if (columns) return { lane: COLUMNS_LANE, reason: `columns: ${types}` };
  // Parts of other kinds would have nothing in common anyway.
  const why =
    source.plan.type === sink.plan.type
      ? (reads.recordsBecause ?? writes.recordsBecause)
      : undefined;
  return { lane: RECORDS_LANE, reason: `records: ${why ?? types}` };
}

function sinkNeedsRecords({ writes, sink }: AssembledRow): string | undefined {
  if (writes === undefined) return 'the sink is known only at run time';
  return writes.columns === true ? undefined : `sink \`${sink.plan.type}\` takes records`;
}

/** Something that looks at records, in the order in which they pass. */
interface Reader {
  /** What it does, as a sentence. */
  readonly why: string;
  /** Whether it can do with columns. */
  readonly onColumns: boolean;
}

function readersOf(
  row: AssembledRow,
  { governance, metadataColumns, rollback, children }: LaneFactors,
): Reader[] {
  const { masking, quality, contract, schema } = governance;
  const [child] = children;
  const readers: (Reader | false | undefined)[] = [
    ...row.transforms.map((transform) => ({
      why: `transform \`${transform.plan.type}\` ${whatItReads(transform)}`,
      onColumns:
        transform.judged !== undefined &&
        transform.plan.definition.worksOnColumns?.(transform.judged) === true,
    })),
    masking && { why: '`masking` looks at every field', onColumns: true },
    quality && { why: '`quality` checks every record', onColumns: !qualityNeedsRecords(quality) },
    contract && { why: '`contract` checks every record', onColumns: true },
    schema &&
      row.writes?.schema !== 'none' && {
        why: '`schema` compares every record with the destination',
        onColumns: false,
      },
    rollback?.enabled && {
      why: '`rollback` marks every record with the id of its run',
      onColumns: false,
    },
    metadataColumns && { why: '`metadata_columns` adds fields to every record', onColumns: false },
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
