import type { Channel, ChannelModel, Message } from 'amqplib';
import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { requireOpen, type Sink, type WriteResult } from '../../kit/sink.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import { payloadOfRecord } from '../_brokers/encode.ts';
import { compilePath, type PathReader } from '../_http/json-path.ts';
import type { RabbitmqSinkConfig } from './config.ts';
import { rabbitmqError } from './errors.ts';
import { RabbitmqLink } from './link.ts';

const MOST_UNCONFIRMED = 10_000;
const MOST_KEY_BYTES = 255;

const CONTENT_TYPES = {
  json: 'application/json',
  string: 'text/plain',
  bytes: 'application/octet-stream',
} as const;

interface OutMessage {
  readonly key: string;
  readonly payload: Buffer;
}

interface Session {
  readonly channel: Channel;
  /** Messages that reached no queue. */
  returned: Message[];
  failure: unknown;
}

export class RabbitmqSink implements Sink {
  readonly #config: RabbitmqSinkConfig;
  readonly #context: SinkContext;
  readonly #link: RabbitmqLink;
  readonly #keyPath: PathReader | undefined;
  readonly #doing: string;
  #session: Session | undefined;
  #isClosed = false;

  constructor(config: RabbitmqSinkConfig, context: SinkContext) {
    this.#config = config;
    this.#context = context;
    this.#link = new RabbitmqLink(config.url, context);
    const { routing_key_jsonpath: path, exchange } = config;
    if (path !== undefined) this.#keyPath = compilePath(path);
    const target = exchange === '' ? 'the default exchange' : `the exchange \`${exchange}\``;
    this.#doing = `records cannot be published to ${target}`;
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    // All of them before the first is sent: a record that cannot be sent leaves nothing behind.
    const messages = page.records().map((record, index) => this.#messageOf(record, index));
    const most = Math.min(this.#config.batch_size || Infinity, MOST_UNCONFIRMED);
    for (let from = 0; from < messages.length; from += most)
      await this.#send(messages.slice(from, from + most));
    return { written: messages.length, rejected: [] };
  }

  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#session = undefined;
    await this.#link.close();
  }

  #messageOf(record: JsonValue, index: number): OutMessage {
    const key = this.#keyOf(record);
    if (key === undefined || Buffer.byteLength(key) > MOST_KEY_BYTES) {
      const { routing_key_field: field, routing_key_jsonpath: path } = this.#config;
      const what = `\`${field ?? path ?? 'routing_key'}\` of a record`;
      const hint = `a routing key is text of at most ${MOST_KEY_BYTES} bytes`;
      throw new ConnectorError('data', `${what} is no routing key`, { record: index, hint });
    }
    return { key, payload: payloadOfRecord(record, index, this.#config.value_format) };
  }

  #keyOf(record: JsonValue): string | undefined {
    const { routing_key: key, routing_key_field: field } = this.#config;
    if (key !== undefined) return key;
    const value =
      field === undefined
        ? this.#keyPath?.(record)[0]
        : isObject(record) && hasField(record, field)
          ? record[field]
          : undefined;
    return typeof value === 'number' || typeof value === 'bigint'
      ? String(value)
      : typeof value === 'string'
        ? value
        : undefined;
  }

  async #send(messages: readonly OutMessage[]): Promise<void> {
    const { publish_timeout_secs: seconds } = this.#config;
    const over = new AbortController();
    const tooLate = this.#context.env.clock.sleep(seconds * 1000, over.signal).then(() => {
      if (over.signal.aborted) return;
      const why = `${this.#doing}: not confirmed within ${seconds} s`;
      throw new ConnectorError('timeout', why, { hint: 'raise `publish_timeout_secs`' });
    });
    tooLate.catch(() => {});
    try {
      await this.#link.run(this.#doing, (model) =>
        Promise.race([this.#publish(model, messages), tooLate]),
      );
    } catch (error) {
      // What was sent may still be on its way: a channel of its own sends what comes next.
      this.#session = undefined;
      await this.#link.drop();
      throw error;
    } finally {
      over.abort();
    }
  }

  async #publish(model: ChannelModel, messages: readonly OutMessage[]): Promise<void> {
    const session = (this.#session ??= await this.#open(model));
    const { exchange, value_format: format, persistent, mandatory, confirm } = this.#config;
    const { channel } = session;
    const options = { persistent, mandatory, contentType: CONTENT_TYPES[format] };
    for (const { key, payload } of messages) channel.publish(exchange, key, payload, options);
    // Answered when all before it was taken.
    const work =
      confirm && 'waitForConfirms' in channel
        ? (channel as Channel & { waitForConfirms(): Promise<void> }).waitForConfirms()
        : channel.prefetch(1);
    await Promise.resolve(work).catch((error: unknown) => {
      throw session.failure ?? error;
    });
    if (session.failure !== undefined) throw session.failure;
    const [returned] = session.returned;
    session.returned = [];
    if (returned === undefined) return;
    const key = returned.fields.routingKey;
    throw new ConnectorError('missing', `${this.#doing}: \`${key}\` leads to no queue`, {
      hint: 'bind a queue to it, or set `mandatory: false` to lose such messages',
    });
  }

  async #open(model: ChannelModel): Promise<Session> {
    const { exchange, exchange_kind: kind, confirm } = this.#config;
    const channel = confirm ? await model.createConfirmChannel() : await model.createChannel();
    const session: Session = { channel, returned: [], failure: undefined };
    channel.on('error', (error: unknown) => {
      session.failure ??= rabbitmqError(error, this.#doing);
    });
    channel.on('close', () => {
      session.failure ??= rabbitmqError(new Error('the connection was lost'), this.#doing);
      if (this.#session === session) this.#session = undefined;
    });
    channel.on('return', (message: Message) => session.returned.push(message));
    if (kind !== undefined) await channel.assertExchange(exchange, kind, { durable: true });
    else if (exchange !== '') await channel.checkExchange(exchange);
    return session;
  }
}
