/**
 * Rows that are read in parts: ranges of a column, which are found when they run, or shares of many
 * objects, files or segments.
 */
import type { SourceDefinition } from '../../kit/source.ts';
import type { Placed } from '../../document/parse/read-blocks.ts';
import { isObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { ResolvedPart } from '../../plan/resolve-part.ts';
import type { BlockPlace, Fact, PlanInMaking, RowPlace } from '../define-block.ts';
import type { ShardSpec } from './schema.ts';

/** Into how many parts what a row reads is cut. */
export type ShardPlan = RangePlan | SharePlan;

export interface RangePlan {
  /** At most. */
  readonly count: number;
  /** The column of which each part is a range. */
  readonly key: string;
}

export interface SharePlan {
  readonly count: number;
  /**
   * What falls into the parts: objects and files by the hash of their names, segments in turn,
   * partitions as the brokers give them to members of a group.
   */
  readonly of: NonNullable<ReturnType<NonNullable<SourceDefinition['divides']>>>;
}

export interface ShardOfRow {
  /** Present when it is read in parts. */
  readonly shard?: ShardPlan | undefined;
}

/** One part is none. */
export function shardOf(
  given: Placed<ShardSpec> | undefined,
  source: Pick<ResolvedPart, 'config'> | undefined,
  definition: Pick<SourceDefinition, 'divides'> | undefined,
): ShardPlan | undefined {
  if (given === undefined || source === undefined || given.value.count === 1) return undefined;
  const { count } = given.value;
  const key = keyOf(source);
  if (key !== undefined) return { count, key };
  const of = definition?.divides?.(source.config);
  return of === undefined ? undefined : { count, of };
}

function keyOf(source: Pick<ResolvedPart, 'config'>): string | undefined {
  const named = source.config['shard'];
  const key = isObject(named) ? named['key'] : undefined;
  return typeof key === 'string' ? key : undefined;
}

/** What cannot be read in parts. */
export function checkShard(
  given: Placed<ShardSpec> | undefined,
  { name, shard, resolved, source, reads }: AssembledRow,
  { issues }: RowPlace,
): void {
  if (shard === undefined) return;
  const path =
    'key' in shard ? joinPath(source.plan.path, 'config', 'shard') : (given?.path ?? 'shard');
  const refuse = (message: string, hint: string): void =>
    issues.error('shard_impossible', path, `${name} ${message}`, hint);
  if (resolved.blocks.has('partition'))
    refuse(
      'is cut into chunks already',
      'use `partition` or `shard`, or set `partition: null` in the row',
    );
  if (reads?.bookmarks === true && reads.unbounded?.redelivery !== 'upstream') {
    refuse(
      'continues where it stopped, and parts that differ in every run have no such place',
      'read everything in each run, or remove `shard`',
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
    '`shard` has no effect: no row that runs once by itself has a source that can be read in parts';
  issues.warn(
    'without_effect',
    path,
    message,
    'set `shard: {key: <integer column>}` in the `config` of a `postgres`, `mysql` or `sqlite` source, or read many objects or files, topics of `kafka`, or a `dynamodb` table in `segments`',
  );
}

export function explainShard({ shard }: ShardOfRow): readonly Fact[] {
  if (shard === undefined) return [];
  if ('of' in shard) {
    const { of, count } = shard;
    const short =
      of === 'partitions'
        ? `up to ${count} members of its group, each with a share of the partitions`
        : `${count} shares of its ${of}, ${of === 'segments' ? 'in turn' : 'by the hash of their names'}`;
    return [{ topic: 'shards', short, words: `The source is read in ${short}.` }];
  }
  const ranges = `up to ${shard.count} ranges of \`${shard.key}\`, known when the row starts`;
  return [{ topic: 'shards', short: ranges, words: `The result is read in ${ranges}.` }];
}
