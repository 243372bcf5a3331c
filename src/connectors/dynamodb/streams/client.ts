/** The calls that reading the changes of a table needs. */
import type { DynamoDBStreams, _Record as StreamRecord } from '@aws-sdk/client-dynamodb-streams';
import type { PartContext } from '../../../kit/context.ts';
import { awsClientSettings } from '../../../lib/aws/client-settings.ts';
import { awsErrorName } from '../../../lib/aws/errors.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { loadClient } from '../../../lib/load-client.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { AwsLink, type CallOptions } from '../../_aws/link.ts';
import { awsPlace } from '../../_aws/place.ts';
import type { Shard, ShardClient, ShardPosition } from '../../_aws/shards/shard.ts';
import { recordOf, type Item } from '../attributes.ts';
import type { DynamodbSourceConfig } from '../config.ts';

export type StreamsLink = AwsLink<DynamoDBStreams>;

/** What was done with an item: `c` created, `u` updated, `d` deleted. */
export interface Change {
  readonly op: 'c' | 'u' | 'd';
  readonly key: JsonObject;
  /** Null where there is none, or where the stream does not hold it. */
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
  /** Milliseconds since 1970, to the second. */
  readonly changedMs: number | null;
}

/** Changes that were not read are gone: the service keeps them for 24 hours. */
export class StreamGap extends ConnectorError {
  constructor(what: string, cause?: unknown) {
    super('data', `changes of the table were removed before they were read: ${what}`, {
      hint: 'set `on_gap: resnapshot` to read the whole table again and go on from there, or remove the bookmark from the state store',
      cause,
    });
  }
}

const REQUEST_MS = 60_000;
const ENVELOPE_BYTES = 200;
/** The service refuses the requests of a clock that is further away from its own. */
const CLOCK_ERROR_MS = 5 * 60_000;
const OPS = { INSERT: 'c', MODIFY: 'u', REMOVE: 'd' } as const;

export function openStreams(config: DynamodbSourceConfig, context: PartContext): StreamsLink {
  return new AwsLink(context, async () => {
    const place = awsPlace(config, context);
    const sdk = await loadClient(
      '@aws-sdk/client-dynamodb-streams',
      () => import('@aws-sdk/client-dynamodb-streams'),
    );
    return new sdk.DynamoDBStreams(
      await awsClientSettings(place, { attempts: 1, requestMs: REQUEST_MS }),
    );
  });
}

/** A time that is not behind that of the service, whatever the clock of this machine says. */
export function earlierThanNow(link: StreamsLink, nowMs: number): Promise<number> {
  // The client knows by how much the clock is wrong once a request was refused for it.
  return link.ask('the clock cannot be read', (client) =>
    Promise.resolve(nowMs + client.config.systemClockOffset - CLOCK_ERROR_MS),
  );
}

export function changeShards(
  link: StreamsLink,
  stream: string,
  config: DynamodbSourceConfig,
): ShardClient<Change> {
  const { table_name: table, records_per_request: Limit } = config;
  const ask = <T>(
    doing: string,
    send: (client: DynamoDBStreams, options: CallOptions) => Promise<T>,
  ) => link.ask(`${doing} of the changes of \`${table}\``, send);
  return {
    async shards() {
      const found: Shard[] = [];
      let ExclusiveStartShardId: string | undefined;
      do {
        const page = { StreamArn: stream, ExclusiveStartShardId };
        const { StreamDescription: told } = await ask(
          'the shards cannot be listed',
          (client, options) => client.describeStream(page, options),
        );
        for (const shard of told?.Shards ?? []) found.push(shardOf(shard));
        ExclusiveStartShardId = told?.LastEvaluatedShardId;
      } while (ExclusiveStartShardId !== undefined);
      return found;
    },
    async iterator(shard, at) {
      const place = { StreamArn: stream, ShardId: shard, ...iteratorOf(at) };
      const answer = await ask(`the position in ${shard} cannot be found`, (client, options) =>
        client.getShardIterator(place, options),
      ).catch((error: unknown) => {
        throw asGap(error, shard);
      });
      return withTime(answer.ShardIterator ?? '', at.type === 'at_timestamp' ? at.ms : undefined);
    },
    async records(iterator) {
      const { ShardIterator, sinceMs } = timeOf(iterator);
      const answer = await ask('records cannot be read', (client, options) =>
        client.getRecords({ ShardIterator, Limit }, options),
      ).catch((error: unknown) => {
        throw asGap(error, 'a shard');
      });
      const all = answer.Records ?? [];
      const kept = sinceMs === undefined ? all : all.filter((one) => isSince(one, sinceMs));
      const next = answer.NextShardIterator ?? undefined;
      return {
        records: kept.map((one) => ({
          sequence: one.dynamodb?.SequenceNumber ?? '',
          size: (one.dynamodb?.SizeBytes ?? 0) + ENVELOPE_BYTES,
          record: changeOf(one),
        })),
        // Where one is late enough, all behind it are.
        next: next && withTime(next, kept.length > 0 ? undefined : sinceMs),
        behindMs: undefined,
        mayHaveMore: all.length > 0,
      };
    },
    isExpired: (error) => awsErrorName(error) === 'ExpiredIteratorException',
  };
}

function asGap(error: unknown, shard: string): unknown {
  if (awsErrorName(error) !== 'TrimmedDataAccessException') return error;
  return new StreamGap(`${shard} no longer reaches back to the bookmark`, error);
}

function shardOf(shard: {
  readonly ShardId?: string | undefined;
  readonly ParentShardId?: string | undefined;
  readonly SequenceNumberRange?: { readonly EndingSequenceNumber?: string | undefined } | undefined;
}): Shard {
  const { ShardId: id = '', ParentShardId: parent, SequenceNumberRange: range } = shard;
  return {
    id,
    parents: parent === undefined ? [] : [parent],
    isClosed: range?.EndingSequenceNumber !== undefined,
  };
}

function changeOf({ eventName, dynamodb: told }: StreamRecord): Change {
  const image = (item: Item | undefined): JsonObject | null =>
    item === undefined ? null : recordOf(item);
  return {
    op: OPS[eventName ?? 'MODIFY'],
    key: recordOf(told?.Keys ?? {}),
    before: image(told?.OldImage),
    after: image(told?.NewImage),
    changedMs: told?.ApproximateCreationDateTime?.getTime() ?? null,
  };
}

/** The service knows no position by time: it is read from the start, and what came earlier is left out. */
function iteratorOf(at: ShardPosition) {
  switch (at.type) {
    case 'trim_horizon':
    case 'at_timestamp':
      return { ShardIteratorType: 'TRIM_HORIZON' } as const;
    case 'latest':
      return { ShardIteratorType: 'LATEST' } as const;
    case 'at_sequence_number':
      return { ShardIteratorType: 'AT_SEQUENCE_NUMBER', SequenceNumber: at.sequence } as const;
    default:
      return { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: at.sequence } as const;
  }
}

/** The service tells whole seconds. */
function isSince({ dynamodb: told }: StreamRecord, sinceMs: number): boolean {
  const changedMs = told?.ApproximateCreationDateTime?.getTime();
  return changedMs === undefined || changedMs >= sinceMs - 1000;
}

const TIME = /^(\d+)\|/;

function withTime(iterator: string, sinceMs: number | undefined): string {
  return sinceMs === undefined ? iterator : `${sinceMs}|${iterator}`;
}

function timeOf(text: string): { ShardIterator: string; sinceMs: number | undefined } {
  const found = TIME.exec(text);
  return {
    ShardIterator: text.slice(found?.[0].length ?? 0),
    sinceMs: found === null ? undefined : Number(found[1]),
  };
}
