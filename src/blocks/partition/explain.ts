import { count } from '../../lib/text/count.ts';
import { jsonText, type JsonObject } from '../../lib/text/json.ts';
import type { Fact } from '../define-block.ts';
import type { PartitionOfRow, PartitionPlan } from './plan.ts';

export function explainPartition({ partition }: Partial<PartitionOfRow>): readonly Fact[] {
  if (partition === undefined) return [];
  const chunks = chunksOf(partition);
  return [{ topic: 'chunks', short: chunks, words: `The range is read in parts: ${chunks}.` }];
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

function formatChunk({ id, start, end, offset, limit }: JsonObject): string {
  return start === undefined || end === undefined
    ? `${jsonText(id ?? '')} (${jsonText(limit ?? 0)} from ${jsonText(offset ?? 0)})`
    : `${jsonText(id ?? '')} (${jsonText(start)} to ${jsonText(end)})`;
}

/** For `plan --json` and its like. */
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
