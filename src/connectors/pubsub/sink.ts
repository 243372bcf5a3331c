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
import { GRPC_STATUS } from '../_grpc/status.ts';
import { GoogleError } from '../_google/errors.ts';
import { atOnce, batchRetry, inBatches, sendAll, UNTOLD } from '../_http/batches.ts';
import type { RequestRetry } from '../_http/retry.ts';
import { PUBLISH } from './api.ts';
import type { PubsubSinkConfig } from './config.ts';
import type { PubsubLink } from './link.ts';
import { messageMaker, MOST_BYTES, type OutMessage } from './outgoing.ts';

export class PubsubSink implements Sink {
  readonly #link: PubsubLink<'topic'>;
  readonly #config: PubsubSinkConfig;
  readonly #context: SinkContext;
  readonly #retry: RequestRetry;
  readonly #make: ReturnType<typeof messageMaker>;
  readonly #doing: string;
  #isClosed = false;

  constructor(link: PubsubLink<'topic'>, config: PubsubSinkConfig, context: SinkContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#retry = batchRetry({}, context);
    this.#make = messageMaker(config);
    this.#doing = `messages cannot be published to \`${config.topic}\``;
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    const messages: OutMessage[] = [];
    const rejected: Rejection[] = [];
    for (const [index, record] of records.entries()) {
      const made = this.#make(record, index);
      if (made instanceof RecordError) rejected.push({ index, error: made });
      else messages.push(made);
    }
    // Before the first is sent: a page that fails for a record of its own leaves nothing behind.
    if (!partial) settle(records.length, rejected, false);
    await atOnce(this.#inOrder(messages), this.#config.concurrency, async (batches) => {
      for (const batch of batches) await this.#publish(batch, partial ? rejected : undefined);
    });
    rejected.sort((one, other) => one.index - other.index);
    return settle(records.length, rejected, partial);
  }

  /** A message that was taken is safe. */
  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  /** Batches that must be sent one after the other. A request holds messages of one key only. */
  #inOrder(messages: readonly OutMessage[]): readonly (readonly (readonly OutMessage[])[])[] {
    const most = { count: this.#config.batch_size, bytes: MOST_BYTES };
    const cut = (some: readonly OutMessage[]) => [...inBatches(some, most, ({ bytes }) => bytes)];
    if (this.#config.ordering_key.type === 'none') return cut(messages).map((batch) => [batch]);
    const ofKeys = Map.groupBy(messages, ({ message }) => message.ordering_key);
    return [...ofKeys.values()].map(cut);
  }

  /**
   * The service takes all messages of a request or none. Where one of them is refused, halves find
   * out which.
   */
  async #publish(batch: readonly OutMessage[], rejected: Rejection[] | undefined): Promise<void> {
    try {
      await sendAll(batch, (messages) => this.#send(messages), {
        context: this.#context,
        retry: this.#retry,
        doing: this.#doing,
      });
    } catch (error) {
      if (rejected === undefined || !isOfMessage(error)) throw error;
      const [first] = batch;
      if (first !== undefined && batch.length === 1) {
        rejected.push({ index: first.index, error: new RecordError('Sink', error.message) });
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await this.#publish(batch.slice(0, middle), rejected);
      await this.#publish(batch.slice(middle), rejected);
    }
  }

  async #send(messages: readonly OutMessage[]) {
    const { message_ids: ids } = await this.#link.ask(
      PUBLISH,
      { messages: messages.map(({ message }) => message) },
      { doing: this.#doing },
    );
    return { records: messages.slice(ids.length), why: UNTOLD, kind: 'http_5xx' as const };
  }
}

function isOfMessage(error: unknown): error is GoogleError {
  return error instanceof GoogleError && error.grpcStatus === GRPC_STATUS.invalidArgument;
}
