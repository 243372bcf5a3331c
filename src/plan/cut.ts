/**
 * Rows whose invocations share what they read: in chunks of a range (`partition`), or in ranges
 * that are found when they run (`shard`).
 */
import { shardBlock } from '../blocks/shard/index.ts';
import { parsedBlock, type ParsedBlocks } from '../document/parse/read-blocks.ts';
import { isObject } from '../lib/text/json.ts';
import type { ResolvedPart } from './resolve-part.ts';
import type { ShardPlan } from './plan.ts';

export function isCut({
  partition,
  shard,
}: {
  readonly partition?: unknown;
  readonly shard?: unknown;
}): boolean {
  return partition !== undefined || shard !== undefined;
}

/** Asked of rows that run once by themselves; one range is none. */
export function shardOf(
  blocks: ParsedBlocks,
  source: ResolvedPart | undefined,
): ShardPlan | undefined {
  const key = keyOf(source);
  const shard = parsedBlock(blocks, shardBlock)?.value;
  return shard === undefined || shard.count === 1 || key === undefined
    ? undefined
    : { count: shard.count, key };
}

function keyOf(source: ResolvedPart | undefined): string | undefined {
  const named = source?.config['shard'];
  const key = isObject(named) ? named['key'] : undefined;
  return typeof key === 'string' ? key : undefined;
}
