/** How often a row runs and for which values, as `plan` and `explain` print it. */
import { jsonText, type JsonObject } from '../../lib/text/json.ts';
import type { FanOutPlan, PartitionPlan, PlannedRow, ShardPlan } from '../../plan/plan.ts';
import { count } from '../../lib/text/count.ts';

/** `once for each value of a and b`; `undefined` for a row that runs once. */
export function timesOf({
  parent,
  forEach,
}: Pick<PlannedRow, 'parent' | 'forEach'>): string | undefined {
  if (parent !== undefined) return `once for every record of row ${parent.row}`;
  if (forEach.length === 0) return undefined;
  return forEach.length === 1
    ? `once for each value of row ${forEach[0]}`
    : `once for each combination of the values of rows ${forEach.join(', ')}`;
}

/** The number of chunks with the first and the last, or that it will be known only at run time. */
export function chunksOf({ spec, chunks }: PartitionPlan): string {
  if (chunks === undefined) return `by ${spec.kind}, bound discovered at run time`;
  const [first, last] = [chunks.at(0), chunks.at(-1)];
  if (first === undefined || last === undefined) return `by ${spec.kind}, none: the range is empty`;
  const shown =
    first === last
      ? formatChunk(first.tokens)
      : `${formatChunk(first.tokens)} … ${formatChunk(last.tokens)}`;
  return `${count(chunks.length, 'chunk')} by ${spec.kind}: ${shown}`;
}

export function shardsOf({ count: most, key }: ShardPlan): string {
  return `up to ${most} ranges of \`${key}\`, known when the row starts`;
}

function formatChunk({ id, start, end, offset, limit }: JsonObject): string {
  return start === undefined || end === undefined
    ? `${jsonText(id ?? '')} (${jsonText(limit ?? 0)} from ${jsonText(offset ?? 0)})`
    : `${jsonText(id ?? '')} (${jsonText(start)} to ${jsonText(end)})`;
}

export function partitionDocument(partition: PartitionPlan | undefined): JsonObject | null {
  if (partition === undefined) return null;
  const { spec, chunks } = partition;
  if (chunks === undefined)
    return { kind: spec.kind, chunks: null, note: 'bound discovered at run time' };
  return {
    kind: spec.kind,
    chunks: chunks.length,
    first: chunks.at(0)?.tokens ?? null,
    last: chunks.at(-1)?.tokens ?? null,
  };
}

/** What a fan-out row does, in one sentence. */
export function formatFanOut(row: FanOutPlan): string {
  const per =
    row.forEach.length === 0
      ? ''
      : `, ${timesOf({ parent: undefined, forEach: row.forEach })}, as one text each`;
  return `Lists the different values of \`${row.select.length === 0 ? '$' : row.select.join('.')}\` from ${row.source.type} as \${${row.id}.${row.alias}}${per}.`;
}
