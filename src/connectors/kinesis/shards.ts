import type { Kinesis } from '@aws-sdk/client-kinesis';
import { awsErrorName } from '../../lib/aws/errors.ts';
import type { CallOptions } from '../_aws/link.ts';
import type { Shard, ShardClient, ShardPosition } from '../_aws/shards/shard.ts';
import type { KinesisSourceConfig } from './config.ts';
import type { KinesisLink } from './link.ts';

export interface KinesisRecord {
  readonly data: Uint8Array;
  readonly partitionKey: string;
  /** Milliseconds since 1970. */
  readonly arrivedMs: number | null;
}

const ENVELOPE_BYTES = 160;
const NO_BYTES = new Uint8Array();

/** The calls that reading a stream needs. */
export function streamShards(
  link: KinesisLink,
  config: KinesisSourceConfig,
): ShardClient<KinesisRecord> {
  const { stream_name: name, records_per_request: most } = config;
  const ask = <T>(doing: string, send: (client: Kinesis, options: CallOptions) => Promise<T>) =>
    link.ask(`${doing} of the stream \`${name}\``, send);
  return {
    async shards() {
      const found: Shard[] = [];
      let token: string | undefined;
      do {
        const page = token === undefined ? { StreamName: name } : { NextToken: token };
        const answer = await ask('the shards cannot be listed', (client, options) =>
          client.listShards(page, options),
        );
        for (const shard of answer.Shards ?? []) found.push(shardOf(shard));
        token = answer.NextToken;
      } while (token !== undefined);
      return found;
    },
    async iterator(shard, at) {
      const answer = await ask(`the position in ${shard} cannot be found`, (client, options) =>
        client.getShardIterator({ StreamName: name, ShardId: shard, ...iteratorOf(at) }, options),
      );
      return answer.ShardIterator ?? '';
    },
    async records(iterator) {
      const answer = await ask('records cannot be read', (client, options) =>
        client.getRecords({ ShardIterator: iterator, Limit: most }, options),
      );
      const records = (answer.Records ?? []).map((one) => ({
        sequence: one.SequenceNumber ?? '',
        size: (one.Data?.length ?? 0) + (one.PartitionKey?.length ?? 0) + ENVELOPE_BYTES,
        record: {
          data: one.Data ?? NO_BYTES,
          partitionKey: one.PartitionKey ?? '',
          arrivedMs: one.ApproximateArrivalTimestamp?.getTime() ?? null,
        },
      }));
      return {
        records,
        next: answer.NextShardIterator ?? undefined,
        behindMs: answer.MillisBehindLatest,
      };
    },
    isExpired: (error) => awsErrorName(error) === 'ExpiredIteratorException',
  };
}

interface ListedShard {
  readonly ShardId?: string | undefined;
  readonly ParentShardId?: string | undefined;
  readonly AdjacentParentShardId?: string | undefined;
  readonly SequenceNumberRange?: { readonly EndingSequenceNumber?: string | undefined } | undefined;
}

function shardOf(shard: ListedShard): Shard {
  const { ShardId: id = '', ParentShardId: one, AdjacentParentShardId: other } = shard;
  return {
    id,
    parents: [one, other].filter((parent) => parent !== undefined),
    isClosed: shard.SequenceNumberRange?.EndingSequenceNumber !== undefined,
  };
}

function iteratorOf(at: ShardPosition) {
  switch (at.type) {
    case 'trim_horizon':
      return { ShardIteratorType: 'TRIM_HORIZON' } as const;
    case 'latest':
      return { ShardIteratorType: 'LATEST' } as const;
    case 'at_timestamp':
      return { ShardIteratorType: 'AT_TIMESTAMP', Timestamp: new Date(at.ms) } as const;
    case 'at_sequence_number':
      return {
        ShardIteratorType: 'AT_SEQUENCE_NUMBER',
        StartingSequenceNumber: at.sequence,
      } as const;
    default:
      return {
        ShardIteratorType: 'AFTER_SEQUENCE_NUMBER',
        StartingSequenceNumber: at.sequence,
      } as const;
  }
}
