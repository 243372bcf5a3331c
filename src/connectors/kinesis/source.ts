import type { SourceContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import type { ReadRequest, Source, SourceLag } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { bookmarkOf, positionsIn, type ShardPosition } from '../_aws/shards/shard.ts';
import { shardPages } from '../_aws/shards/shard-pages.ts';
import { ShardReader, type TakenRecord } from '../_aws/shards/shard-reader.ts';
import { startedShards } from '../_aws/shards/start.ts';
import { decodedPayload } from '../_brokers/decode.ts';
import { readAgain } from '../_brokers/read-again.ts';
import type { KinesisSourceConfig } from './config.ts';
import type { KinesisLink } from './link.ts';
import { streamShards, type KinesisRecord } from './shards.ts';

type Reader = ShardReader<KinesisRecord>;

export class KinesisSource implements Source {
  readonly #link: KinesisLink;
  readonly #config: KinesisSourceConfig;
  readonly #context: SourceContext;
  readonly #again: ReturnType<typeof readAgain>;
  #reader: Reader | undefined;

  constructor(link: KinesisLink, config: KinesisSourceConfig, context: SourceContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#again = readAgain(context);
  }

  async *pages({ bookmark: from, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: batchSize, max_messages: most = Infinity } = this.#config;
    const reader = await this.#start(from);
    // What comes from now on must not be lost when this run ends before any of it does.
    if (from === undefined && this.#config.start_position.type === 'latest')
      yield Page.ofRecords([], { bookmark: bookmarkOf(reader.positions()) });
    yield* shardPages(
      {
        reader,
        context: this.#context,
        batchSize,
        idleSeconds: this.#config.idle_termination_secs,
        recordOf: (taken) => this.#recordOf(taken),
      },
      Math.min(limit, most),
    );
  }

  lag(): SourceLag | undefined {
    const behindMs = this.#reader?.behindMs;
    return behindMs === undefined ? undefined : { seconds: behindMs / 1000 };
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  async #start(bookmark: JsonValue | undefined): Promise<Reader> {
    const { shard_ids: ids, include_closed: includeClosed } = this.#config;
    const only = ids.length === 0 ? undefined : ids;
    const { env, signal } = this.#context;
    signal.throwIfAborted();
    const marks = bookmark === undefined ? undefined : positionsIn(bookmark, 'the source kinesis');
    const client = streamShards(this.#link, this.#config, env.log);
    const listed = await this.#again(() => client.shards());
    const start = { position: this.#startPosition(), only, includeClosed };
    const shards = startedShards(listed, start, { marks, log: env.log });
    if (marks === undefined && start.position.type.endsWith('sequence_number') && shards.length > 1)
      throw new ConnectorError(
        'refused',
        `the sequence number of \`start_position\` belongs to one shard, and the stream has ${shards.length}`,
        { hint: 'name the shard, e.g. `shard_ids: [shardId-000000000000]`' },
      );
    this.#reader = new ShardReader(
      {
        client,
        context: this.#context,
        pollMs: this.#config.poll_interval_ms,
        atOnce: this.#config.shard_concurrency,
        follows: only === undefined,
      },
      shards,
    );
    return this.#reader;
  }

  #startPosition(): ShardPosition {
    const { start_position: start } = this.#config;
    switch (start.type) {
      case 'latest':
        return { type: 'latest', sinceMs: this.#context.env.clock.now().getTime() };
      case 'at_timestamp':
        return { type: 'at_timestamp', ms: start.timestamp_secs * 1000 };
      default:
        return start;
    }
  }

  #recordOf({ record, sequence, shard }: TakenRecord<KinesisRecord>): JsonObject {
    return {
      data: this.#decoded(record.data, `record ${sequence} of ${shard}`),
      partition_key: record.partitionKey,
      sequence_number: sequence,
      shard_id: shard,
      approximate_arrival_timestamp_ms: record.arrivedMs,
    };
  }

  #decoded(data: Uint8Array, what: string): JsonValue {
    try {
      return decodedPayload(data, this.#config.value_format, what);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      const hint = 'set `value_format` to `string` or `bytes`';
      throw new ConnectorError('data', error.message, { hint });
    }
  }
}
