import type { SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
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
import { excerptOf } from '../../lib/text/excerpt.ts';
import {
  hasField,
  isObject,
  jsonText,
  stringifyJson,
  type JsonValue,
} from '../../lib/text/json.ts';
import { atOnce, batchRetry, inBatches, sendAll, UNTOLD, type Left } from '../_http/batches.ts';
import type { RequestRetry } from '../_http/retry.ts';
import { isFifo, type SqsSinkConfig } from './config.ts';
import type { SqsLink } from './link.ts';

/** Of one message, and of all messages of a request together. */
const MOST_BYTES = 262_144;
const LONGEST_ID = 128;
const DOING = 'messages cannot be sent';

interface OutMessage {
  /** Of its record in the page. */
  readonly index: number;
  readonly body: string;
  readonly bytes: number;
  readonly deduplicationId: string | undefined;
}

export class SqsSink implements Sink {
  readonly #config: SqsSinkConfig;
  readonly #context: SinkContext;
  readonly #link: SqsLink;
  readonly #retry: RequestRetry;
  #isClosed = false;

  constructor(link: SqsLink, config: SqsSinkConfig, context: SinkContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#retry = batchRetry(config, context);
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    const messages: OutMessage[] = [];
    const rejected: Rejection[] = [];
    for (const [index, record] of records.entries()) {
      const made = this.#messageOf(record, index);
      if (made instanceof RecordError) rejected.push({ index, error: made });
      else messages.push(made);
    }
    // Before the first is sent: a page that fails for a record of its own leaves nothing behind.
    if (!partial) settle(records.length, rejected, false);
    const { batch_size: count, queue_url: url, concurrency } = this.#config;
    const batches = inBatches(messages, { count, bytes: MOST_BYTES }, ({ bytes }) => bytes);
    await atOnce(batches, isFifo(url) ? 1 : concurrency, (batch) => this.#send(batch, rejected));
    return settle(
      records.length,
      rejected.sort((a, b) => a.index - b.index),
      partial,
    );
  }

  /** A message that was taken is safe. */
  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  #messageOf(record: JsonValue, index: number): OutMessage | RecordError {
    const body = stringifyJson(record);
    const bytes = Buffer.byteLength(body);
    if (bytes > MOST_BYTES)
      return new RecordError(
        'Sink',
        `the message has ${bytes} bytes, and a queue takes ${MOST_BYTES}`,
      );
    const { message_deduplication_id_field: field } = this.#config;
    if (field === undefined) return { index, body, bytes, deduplicationId: undefined };
    const value = isObject(record) && hasField(record, field) ? (record[field] ?? null) : null;
    const id = value === null || typeof value === 'object' ? '' : jsonText(value);
    if (id === '' || id.length > LONGEST_ID)
      return new RecordError(
        'Sink',
        `\`${field}\` is no deduplication id: text of 1 to ${LONGEST_ID} characters`,
      );
    return { index, body, bytes, deduplicationId: id };
  }

  #send(batch: readonly OutMessage[], rejected: Rejection[]): Promise<void> {
    return sendAll(batch, (messages) => this.#sendOnce(messages, rejected), {
      context: this.#context,
      retry: this.#retry,
      doing: DOING,
    });
  }

  async #sendOnce(
    messages: readonly OutMessage[],
    rejected: Rejection[],
  ): Promise<Left<OutMessage>> {
    const { queue_url: url } = this.#config;
    const request = { QueueUrl: url, Entries: messages.map((one, at) => this.#entryOf(one, at)) };
    const answer = await this.#link.ask(DOING, (client, options) =>
      client.sendMessageBatch(request, options),
    );
    const { Failed: failed = [], Successful: taken = [] } = answer;
    const done = new Set(taken.map(({ Id: id }) => Number(id)));
    for (const { Id: id, SenderFault: isOurs, Code: code = '', Message: said = '' } of failed) {
      const message = messages[Number(id)];
      if (message === undefined || isOurs !== true) continue;
      const why = excerptOf(said === '' ? code : `${code}: ${said}`, this.#context.env.redactor);
      rejected.push({ index: message.index, error: new RecordError('Sink', why) });
      done.add(Number(id));
    }
    const left = messages.filter((_, at) => !done.has(at));
    const why = failed.find(({ SenderFault: ours }) => ours !== true)?.Code ?? UNTOLD;
    if (isFifo(url))
      this.#tellOrder(left, messages.at(Math.max(...taken.map(({ Id }) => Number(Id)))));
    return { records: left, why, kind: /Throttl/.test(why) ? 'rate_limited' : 'http_5xx' };
  }

  /** `last`: the last message that was taken. */
  #tellOrder([first]: readonly OutMessage[], last: OutMessage | undefined): void {
    if (first === undefined || last === undefined || last.index < first.index) return;
    this.#context.env.log.warn(
      'messages of a group come behind later ones, because the service failed on them; with `batch_size: 1` they keep their order',
    );
  }

  #entryOf({ body, deduplicationId }: OutMessage, at: number): SendMessageBatchRequestEntry {
    const { message_group_id: group } = this.#config;
    return {
      Id: String(at),
      MessageBody: body,
      ...(group === undefined ? {} : { MessageGroupId: group }),
      ...(deduplicationId === undefined ? {} : { MessageDeduplicationId: deduplicationId }),
    };
  }
}
