/** Rows whose result is read in ranges of a column, which are found when they run. */
import type { Placed } from '../../document/parse/read-blocks.ts';
import { isObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { ResolvedPart } from '../../plan/resolve-part.ts';
import type { BlockPlace, Fact, PlanInMaking, RowPlace } from '../define-block.ts';
import type { ShardSpec } from './schema.ts';

/** Into how many ranges of which column of its source a row is cut. */
export interface ShardPlan {
  /** At most. */
  readonly count: number;
  readonly key: string;
}

export interface ShardOfRow {
  /** Present when its result is read in ranges. */
  readonly shard?: ShardPlan | undefined;
}

/** One range is none. */
export function shardOf(
  given: Placed<ShardSpec> | undefined,
  source: Pick<ResolvedPart, 'config'> | undefined,
): ShardPlan | undefined {
  const key = keyOf(source);
  return given === undefined || given.value.count === 1 || key === undefined
    ? undefined
    : { count: given.value.count, key };
}

function keyOf(source: Pick<ResolvedPart, 'config'> | undefined): string | undefined {
  const named = source?.config['shard'];
  const key = isObject(named) ? named['key'] : undefined;
  return typeof key === 'string' ? key : undefined;
}

/** What cannot be read in ranges of a column. */
export function checkShard(
  { name, shard, resolved, source, reads }: AssembledRow,
  { issues }: RowPlace,
): void {
  if (shard === undefined) return;
  const path = joinPath(source.plan.path, 'config', 'shard');
  const refuse = (message: string, hint: string): void =>
    issues.error('shard_impossible', path, `${name} ${message}`, hint);
  if (resolved.blocks.has('partition'))
    refuse(
      'is cut into chunks already',
      'use `partition` or `shard`, or set `partition: null` in the row',
    );
  if (reads?.bookmarks === true) {
    refuse(
      'continues where it stopped, and ranges that differ in every run have no such place',
      'use `replication: full`, or remove `shard`',
    );
  }
}

/** Says so when a document asks for shards and no row has any. */
export function warnAboutUnusedShard(
  shard: ShardSpec,
  { rows, topology }: PlanInMaking,
  { path, issues }: BlockPlace,
): void {
  if (topology !== undefined || shard.count === 1 || rows.some((row) => row.shard !== undefined))
    return;
  const message =
    '`shard` has no effect: no row that runs once by itself has a source that names the column';
  issues.warn(
    'without_effect',
    path,
    message,
    'set `shard: {key: <integer column>}` in the `config` of a `postgres` or `sqlite` source',
  );
}

export function explainShard({ shard }: ShardOfRow): readonly Fact[] {
  if (shard === undefined) return [];
  const ranges = `up to ${shard.count} ranges of \`${shard.key}\`, known when the row starts`;
  return [{ topic: 'shards', short: ranges, words: `The result is read in ${ranges}.` }];
}
