import type { Kinesis } from '@aws-sdk/client-kinesis';
import { awsErrorName } from '../../lib/aws/errors.ts';
import type { CallOptions } from '../_aws/link.ts';
import type { Shard, ShardClient, ShardPosition } from '../_aws/shards/shard.ts';
import type { Log } from '../../lib/log.ts';
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
  log: Pick<Log, 'warn'>,
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
      const after =
        at.type === 'after_sequence_number' ? { shard, sequence: at.sequence } : undefined;
      return iteratorText({ iterator: answer.ShardIterator ?? '', after });
    },
    async records(text) {
      const { iterator, after } = parsedIterator(text);
      const answer = await ask('records cannot be read', (client, options) =>
        client.getRecords({ ShardIterator: iterator, Limit: most }, options),
      );
      const { Records: all = [], NextShardIterator: next } = answer;
      const [first] = all;
      const isThere = after !== undefined && first?.SequenceNumber === after.sequence;
      if (after !== undefined && first !== undefined && !isThere) tellGap(log, after, first);
      const records = (isThere ? all.slice(1) : all).map((one) => ({
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
        next: next && iteratorText({ iterator: next, after: first ? undefined : after }),
        behindMs: answer.MillisBehindLatest,
      };
    },
    isExpired: (error) => awsErrorName(error) === 'ExpiredIteratorException',
  };
}

interface StartedIterator {
  readonly iterator: string;
  /** The record behind which it goes on, until that has come. */
  readonly after: { readonly shard: string; readonly sequence: string } | undefined;
}

function iteratorText({ iterator, after }: StartedIterator): string {
  return JSON.stringify([iterator, after?.shard, after?.sequence]);
}

function parsedIterator(text: string): StartedIterator {
  const [iterator, shard, sequence] = JSON.parse(text) as [string, string | null, string | null];
  const isBehind = typeof shard === 'string' && typeof sequence === 'string';
  return { iterator, after: isBehind ? { shard, sequence } : undefined };
}

/** The service goes on at the oldest record that it has, and says nothing of those before. */
function tellGap(
  log: Pick<Log, 'warn'>,
  { shard, sequence }: NonNullable<StartedIterator['after']>,
  oldest: ReceivedRecord,
): void {
  log.warn(
    'the stream no longer has the record behind which the read goes on: what came between it and the oldest that is left was removed before it was read; runs more often, or a longer retention of the stream, prevent that',
    {
      shard,
      after: sequence,
      oldest: oldest.SequenceNumber,
      oldest_arrived_at: oldest.ApproximateArrivalTimestamp?.toISOString(),
    },
  );
}

interface ReceivedRecord {
  readonly SequenceNumber?: string | undefined;
  readonly ApproximateArrivalTimestamp?: Date | undefined;
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
    // Behind a record the record itself is asked for, too: when another one comes first, the service
    // has removed it.
    default:
      return {
        ShardIteratorType: 'AT_SEQUENCE_NUMBER',
        StartingSequenceNumber: at.sequence,
      } as const;
  }
}
