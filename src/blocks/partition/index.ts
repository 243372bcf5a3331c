import { defineBlock } from '../define-block.ts';
import type { PartitionSpec } from './chunks.ts';
import { explainPartition } from './explain.ts';
import { assemblePartition, checkPartition, chunkTokens } from './plan.ts';
import { partitionSchema } from './schema.ts';

export const partitionBlock = defineBlock<PartitionSpec>({
  name: 'partition',
  placement: 'top',
  description:
    'Cuts the range that a row reads into chunks, each an invocation with a state key of its own. At the top it is for every row that runs once by itself.',
  inRows: {
    description: 'Replaces the `partition` of the document; null means none.',
    nullable: true,
  },
  schema: partitionSchema,
  examples: [
    { kind: 'integer', from: 1, to: 1_000_000, chunk_size: 100_000, bounds: 'inclusive' },
    {
      kind: 'integer',
      from: 1,
      to: {
        from_source: {
          type: 'sqlite',
          config: { database_url: 'sqlite:shop.db', query: 'SELECT max(id) AS id FROM orders' },
        },
        value_path: '$.id',
      },
      chunk_size: 50_000,
      bounds: 'half_open',
    },
    {
      kind: 'timestamp',
      from: '2026-01-01',
      to: '2026-02-01',
      chunk_size: '1d',
      timezone: 'Europe/Oslo',
    },
    { kind: 'offset', total: 2500, chunk_size: 1000 },
  ],
  plannedFor: 'members',
  inheritedBy: 'roots',
  cuts: () => ({ name: 'partition', per: 'per chunk', example: 'partition.id' }),
  assemble: assemblePartition,
  checkEveryRow: checkPartition,
  planRow: (_given, { partition }) => ({ partition }),
  explainRow: explainPartition,
  tokens: {
    root: 'partition',
    namedByBlock: true,
    hint: 'it is filled in only in the source and sink of a row that `partition` cuts into chunks',
    granted: chunkTokens,
  },
  notBesideNodes: 'the nodes of a graph run once',
});
