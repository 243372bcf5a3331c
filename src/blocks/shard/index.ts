import { readsShares } from '../../kit/share.ts';
import { defineBlock } from '../define-block.ts';
import { checkShard, explainShard, shardOf, warnAboutUnusedShard } from './plan.ts';
import { shardSchema, type ShardSpec } from './schema.ts';

export const shardBlock = defineBlock<ShardSpec>({
  name: 'shard',
  placement: 'top',
  description:
    'Cuts what a run reads into shards, each an invocation, for rows that run once by themselves. A source of objects or of many files (`s3`, `gcs`, `azure-blob`, `sftp`, `parquet`, `file` with a pattern) divides them by the hash of their names, and a scan of `dynamodb` its `segments`. Each shard of `kafka` is one more member of the consumer group, with a share of the partitions; there are never more of them than partitions. A database is read in ranges of an integer column that its source names (`shard: {key}` in the `config` of `postgres`, `mysql` or `sqlite`); the ranges are asked for when the row starts, and together hold every record, also those without a value. Servers of a cluster share them when the row is the only one of its document: each shard is executed by whichever server is free, taken over when its server is lost, and the run ends with the last of them. A run in shards is not held to `sla`, does not notify, and is not kept in the catalog.',
  schema: shardSchema,
  examples: [{ count: 4 }],
  plannedFor: 'members',
  inheritedBy: 'roots',
  cuts: (given, source, sources) => {
    const shard = shardOf(given, source, source && sources.get(source.type));
    if (shard === undefined) return undefined;
    return { name: '', per: 'per shard', isInShares: readsShares(shard) };
  },
  conclude: (given, { resolved, source }) => ({
    shard: shardOf(given, resolved.source, source.plan.definition),
  }),
  checkEveryRow: (given, row, place) => checkShard(given, row, place),
  checkPlan: warnAboutUnusedShard,
  planRow: (_given, { shard }) => (shard === undefined ? {} : { shard }),
  explainRow: explainShard,
  notBesideNodes: 'the nodes of a graph run once',
});
