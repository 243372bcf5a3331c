/** What cannot be read in ranges of a column (`shard`). */
import { shardBlock } from '../../blocks/shard/index.ts';
import { parsedBlock, type ParsedBlocks } from '../../document/parse/read-blocks.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { IssueList } from '../issue-list.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';
import type { ResolvedRow } from '../resolved-row.ts';

export function checkShard({ resolved, source, reads }: AssembledRow, issues: IssueList): void {
  if (resolved.shard === undefined) return;
  const path = joinPath(source.plan.path, 'config', 'shard');
  const refuse = (message: string, hint: string): void =>
    issues.error('shard_impossible', path, `${rowName(resolved)} ${message}`, hint);
  if (resolved.partition !== undefined)
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
  blocks: ParsedBlocks,
  drafts: readonly ResolvedRow[],
  issues: IssueList,
): void {
  const shard = parsedBlock(blocks, shardBlock)?.value;
  if (
    shard === undefined ||
    shard.count === 1 ||
    drafts.some((resolved) => resolved.shard !== undefined)
  )
    return;
  const message =
    '`shard` has no effect: no row that runs once by itself has a source that names the column';
  issues.warn(
    'without_effect',
    'shard',
    message,
    'set `shard: {key: <integer column>}` in the `config` of a `postgres` or `sqlite` source',
  );
}
