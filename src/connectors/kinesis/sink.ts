import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import {
  requireOpen,
  type Rejection,
  type Sink,
  type WriteOptions,
  type WriteResult,
} from '../../kit/sink.ts';
import { settle } from '../../kit/write-spec.ts';
import { RecordError } from '../../lib/errors.ts';
import { atOnce, batchRetry, inBatches, sendAll, UNTOLD, type Left } from '../_http/batches.ts';
import type { RequestRetry } from '../_http/retry.ts';
import type { KinesisSinkConfig } from './config.ts';
import type { KinesisLink } from './link.ts';
import { recordMaker, type OutRecord } from './records.ts';

export class KinesisSink implements Sink {
  readonly #config: KinesisSinkConfig;
  readonly #context: SinkContext;
  readonly #link: KinesisLink;
  readonly #retry: RequestRetry;
  readonly #make: ReturnType<typeof recordMaker>;
  readonly #doing: string;
  #isClosed = false;

  constructor(link: KinesisLink, config: KinesisSinkConfig, context: SinkContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#retry = batchRetry(config, context);
    this.#make = recordMaker(config);
    this.#doing = `records cannot be put into the stream \`${config.stream_name}\``;
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    const out: OutRecord[] = [];
    const rejected: Rejection[] = [];
    for (const [index, record] of records.entries()) {
      const made = this.#make(record, index);
      if (made instanceof RecordError) rejected.push({ index, error: made });
      else out.push(made);
    }
    // Before the first is sent: a page that fails for a record of its own leaves nothing behind.
    const result = settle(records.length, rejected, partial);
    const { batch_size: count, max_request_bytes: mostBytes, concurrency } = this.#config;
    const most = { count, bytes: mostBytes };
    const batches = this.#inOrder(out).flatMap((some) => [
      ...inBatches(some, most, ({ bytes }) => bytes),
    ]);
    await atOnce(batches, concurrency, (batch) =>
      sendAll(batch, (some) => this.#put(some), {
        context: this.#context,
        retry: this.#retry,
        doing: this.#doing,
      }),
    );
    return result;
  }

  /** A record that was taken is safe. */
  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  /** Records of one request may come behind each other, so none has two of one key. */
  #inOrder(records: readonly OutRecord[]): readonly (readonly OutRecord[])[] {
    const { concurrency, partition_key: key } = this.#config;
    return concurrency > 1 || key.type === 'random' ? [records] : eachKeyOnce(records);
  }

  /** Gives those that their shards had no room for. */
  async #put(records: readonly OutRecord[]): Promise<Left<OutRecord>> {
    const answer = await this.#link.ask(this.#doing, (client, options) =>
      client.putRecords(
        {
          StreamName: this.#config.stream_name,
          Records: records.map(({ data, partitionKey, hashKey }) => ({
            Data: data,
            PartitionKey: partitionKey,
            ...(hashKey === undefined ? {} : { ExplicitHashKey: hashKey }),
          })),
        },
        options,
      ),
    );
    const outcomes = answer.Records ?? [];
    const left = records.filter((_, at) => (outcomes[at]?.SequenceNumber ?? '') === '');
    const why = outcomes.find(({ ErrorCode: code }) => code !== undefined)?.ErrorCode ?? UNTOLD;
    return { records: left, why, kind: /Throughput/.test(why) ? 'rate_limited' : 'http_5xx' };
  }
}

/** The first record of every key, then the second of every key that has two, and so on. */
function eachKeyOnce(records: readonly OutRecord[]): readonly (readonly OutRecord[])[] {
  const seen = new Map<string, number>();
  const rounds: OutRecord[][] = [];
  for (const record of records) {
    const round = seen.get(record.partitionKey) ?? 0;
    seen.set(record.partitionKey, round + 1);
    (rounds[round] ??= []).push(record);
  }
  return rounds;
}
