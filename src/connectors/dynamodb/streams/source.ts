/** The changes of a table, from where the last run stopped. */
import type { SourceContext } from '../../../kit/context.ts';
import { Page, RECORDS_LANE } from '../../../kit/page.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import {
  bookmarkOf,
  positionsIn,
  type Shard,
  type ShardPosition,
} from '../../_aws/shards/shard.ts';
import { shardPages } from '../../_aws/shards/shard-pages.ts';
import { ShardReader, type TakenRecord } from '../../_aws/shards/shard-reader.ts';
import { lostShards, startedShards } from '../../_aws/shards/start.ts';
import type { RequestRetry } from '../../_http/retry.ts';
import { runRequests } from '../../_http/run-requests.ts';
import type { DynamodbSourceConfig } from '../config.ts';
import { openDynamodb, tableKey, tableRetry, type DynamodbLink } from '../link.ts';
import { DynamodbSource } from '../read/source.ts';
import {
  changeShards,
  earlierThanNow,
  openStreams,
  StreamGap,
  type Change,
  type StreamsLink,
} from './client.ts';

const DOING = 'the changes of the table cannot be read';

export class DynamodbStreamSource implements Source {
  readonly #config: DynamodbSourceConfig;
  readonly #context: SourceContext;
  readonly #table: DynamodbLink;
  readonly #streams: StreamsLink;
  readonly #retry: RequestRetry;
  readonly #run: ReturnType<typeof runRequests>;

  constructor(config: DynamodbSourceConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#table = openDynamodb(config, context);
    this.#streams = openStreams(config, context);
    this.#retry = tableRetry(config.retry, context);
    this.#run = runRequests(context, this.#retry);
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: batchSize, max_messages: most = Infinity, on_gap: onGap } = this.#config;
    const stream = await this.#again(() => this.#streamArn());
    let [from, left, changesLeft] = [bookmark, limit, most];
    while (left > 0 && changesLeft > 0)
      try {
        const reader = await this.#start(stream, from);
        // What comes from now on must not be lost when this run ends before any of it does.
        if (from === undefined)
          yield Page.ofRecords([], { bookmark: bookmarkOf(reader.positions()) });
        const options = {
          reader,
          context: this.#context,
          batchSize,
          idleSeconds: this.#config.idle_termination_secs,
          recordOf: (taken: TakenRecord<Change>) => this.#recordOf(taken),
          retry: this.#retry,
        };
        for await (const page of shardPages(options, Math.min(left, changesLeft))) {
          left -= page.count;
          changesLeft -= page.count;
          yield page;
        }
        return;
      } catch (error) {
        if (!(error instanceof StreamGap) || onGap !== 'resnapshot') throw error;
        this.#context.env.log.warn('the whole table is read again', {
          table: this.#config.table_name,
          error: error.message,
        });
        from = bookmarkOf(await this.#positionsNow(stream));
        for await (const page of this.#snapshot(from, left)) {
          left -= page.count;
          yield page;
        }
      }
  }

  async close(): Promise<void> {
    await Promise.all([this.#table.close(), this.#streams.close()]);
  }

  readonly #again = <T>(request: () => Promise<T>): Promise<T> =>
    this.#run(DOING, this.#context.signal, request);

  async #streamArn(): Promise<string> {
    const { stream_arn: given, table_name: name } = this.#config;
    if (given !== undefined) return given;
    const { Table: told } = await this.#table.ask(DOING, (client, options) =>
      client.describeTable({ TableName: name }, options),
    );
    if (told?.LatestStreamArn !== undefined) return told.LatestStreamArn;
    throw new ConnectorError('missing', `the table \`${name}\` has no stream of changes`, {
      hint: 'turn it on, with both images of an item: `aws dynamodb update-table --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES`',
    });
  }

  async #start(stream: string, bookmark: JsonValue | undefined): Promise<ShardReader<Change>> {
    const { env, signal } = this.#context;
    const { poll_interval_ms: pollMs, shard_concurrency: atOnce } = this.#config;
    signal.throwIfAborted();
    const marks =
      bookmark === undefined ? undefined : positionsIn(bookmark, 'the changes of a table');
    const client = changeShards(this.#streams, stream, this.#config);
    const listed = await this.#again(() => client.shards());
    const [lost] = marks === undefined ? [] : lostShards(listed, marks);
    if (lost !== undefined) throw new StreamGap(`the shard ${lost} is gone`);
    const position = await this.#startPosition();
    const start = { position, includeClosed: position.type === 'trim_horizon' };
    const shards = startedShards(listed, start, { marks, log: env.log });
    return new ShardReader(
      { client, context: this.#context, pollMs, atOnce, follows: true },
      shards,
    );
  }

  async #startPosition(): Promise<ShardPosition> {
    if (this.#config.start_position === 'trim_horizon') return { type: 'trim_horizon' };
    return { type: 'latest', sinceMs: await this.#nowMs() };
  }

  #nowMs(): Promise<number> {
    return earlierThanNow(this.#streams, this.#context.env.clock.now().getTime());
  }

  /** Shards that are closed hold nothing that a read of the table from now on does not show. */
  async #positionsNow(stream: string): Promise<ReadonlyMap<string, ShardPosition | 'end'>> {
    const at: ShardPosition = { type: 'at_timestamp', ms: await this.#nowMs() };
    const client = changeShards(this.#streams, stream, this.#config);
    const listed = await this.#again(() => client.shards());
    return new Map(listed.map(({ id, isClosed }: Shard) => [id, isClosed ? 'end' : at]));
  }

  /** All items; only the last page has the bookmark, because a part of a table is none to go on from. */
  async *#snapshot(bookmark: JsonValue, limit: number): AsyncGenerator<Page> {
    const key = await this.#again(() => tableKey(this.#table, this.#config.table_name));
    const whole = { ...this.#config, mode: 'scan', consistent_read: true } as const;
    const items = new DynamodbSource(this.#table, whole, this.#context);
    let given = 0;
    for await (const page of items.pages({
      lane: RECORDS_LANE,
      ...(limit === Infinity ? {} : { limit }),
    })) {
      const records = (page.records() as readonly JsonObject[]).map((item) =>
        this.#changed({ op: 'r', key: keyOf(item, key), before: null, after: item }),
      );
      given += records.length;
      yield Page.ofRecords(records, { bytes: page.bytes });
    }
    if (given < limit) yield Page.ofRecords([], { bookmark });
  }

  #recordOf({ record, sequence, shard }: TakenRecord<Change>): JsonObject {
    const { changedMs, ...change } = record;
    return {
      ...this.#changed(change),
      sequence_number: sequence,
      shard_id: shard,
      ts_ms: changedMs,
    };
  }

  #changed(change: Omit<Change, 'op' | 'changedMs'> & { readonly op: Change['op'] | 'r' }) {
    const { op, key, before, after } = change;
    return {
      op,
      table: this.#config.table_name,
      document_key: key,
      before,
      after,
      sequence_number: null,
      shard_id: null,
      ts_ms: null,
    } satisfies JsonObject;
  }
}

function keyOf(item: JsonObject, key: readonly { readonly name: string }[]): JsonObject {
  const found: JsonObject = {};
  for (const { name } of key) setField(found, name, item[name] ?? null);
  return found;
}
