import type { IPublishPacket } from 'mqtt-packet';
import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { requireOpen, type Sink, type WriteResult } from '../../kit/sink.ts';
import { ConnectorError, isTransient } from '../../lib/errors.ts';
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { payloadOfRecord } from '../_brokers/encode.ts';
import { addressOf } from './addresses.ts';
import type { MqttSinkConfig } from './config.ts';
import { mqttError } from './errors.ts';
import { registerLogin } from './login.ts';
import { MqttSession } from './session.ts';
import { isTopic } from './topics.ts';

const MOST_UNCONFIRMED = 1000;
const CONFIRM_MS = 60_000;
/** What a packet has besides its topic, payload and properties, at most. */
const PACKET_BYTES = 64;

const CONTENT_TYPES = {
  json: 'application/json',
  string: 'text/plain',
  bytes: 'application/octet-stream',
} as const;

type OutMessage = Omit<IPublishPacket, 'cmd' | 'messageId' | 'dup'>;

export class MqttSink implements Sink {
  readonly #config: MqttSinkConfig;
  readonly #context: SinkContext;
  readonly #properties: IPublishPacket['properties'];
  readonly #doing = 'records cannot be published';
  #session: MqttSession | undefined;
  #isClosed = false;

  constructor(config: MqttSinkConfig, context: SinkContext) {
    this.#config = config;
    this.#context = context;
    registerLogin(config, context);
    const { message_expiry_secs: expiry, user_properties: user, value_format: format } = config;
    if (config.protocol_version !== '5') return;
    this.#properties = {
      contentType: CONTENT_TYPES[format],
      payloadFormatIndicator: format !== 'bytes',
      ...(expiry === undefined ? {} : { messageExpiryInterval: expiry }),
      ...(user === undefined ? {} : { userProperties: user }),
    };
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    // All of them before the first is sent: a record that cannot be sent leaves nothing behind.
    const messages = page.records().map((record, index) => this.#messageOf(record, index));
    const { signal } = this.#context;
    signal.throwIfAborted();
    try {
      await untilAborted(this.#publish(messages), signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = mqttError(error, this.#doing);
      if (isTransient(failure.kind)) await this.#drop();
      throw failure;
    }
    return { written: messages.length, rejected: [] };
  }

  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#drop();
  }

  async #drop(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.end();
  }

  #messageOf(record: JsonValue, index: number): OutMessage {
    const { qos, retain } = this.#config;
    const topic = this.#topicOf(record, index);
    const payload = payloadOfRecord(record, index, this.#config.value_format);
    const properties = this.#properties === undefined ? {} : { properties: this.#properties };
    return { topic, payload, qos: qos as OutMessage['qos'], retain, ...properties };
  }

  #topicOf(record: JsonValue, index: number): string {
    const { topic, topic_field: field } = this.#config;
    if (field === undefined || !isObject(record) || !hasField(record, field)) return topic;
    const own = record[field];
    if (typeof own === 'string' && isTopic(own)) return own;
    throw new ConnectorError('data', `\`${field}\` of a record is no topic`, {
      record: index,
      hint: 'a topic is a text that is not empty, without `+` and `#`',
    });
  }

  async #publish(messages: readonly OutMessage[]): Promise<void> {
    const session = await this.#connected();
    const { batch_size: size, qos } = this.#config;
    const { receiveMaximum = MOST_UNCONFIRMED, maximumPacketSize: longest = Infinity } =
      session.server;
    const large = messages.findIndex(
      ({ topic, payload }) => Buffer.byteLength(topic) + payload.length + PACKET_BYTES > longest,
    );
    if (large !== -1) {
      const what = `a record is longer than the ${longest} bytes of a message`;
      throw new ConnectorError('data', what, { record: large });
    }
    const most = Math.min(size || Infinity, receiveMaximum, MOST_UNCONFIRMED);
    for (let from = 0; from < messages.length; from += most) {
      const sent = messages.slice(from, from + most).map((one) => session.publish(one));
      await this.#inTime(Promise.all(qos === 0 ? [...sent, session.ping()] : sent));
    }
  }

  async #inTime(work: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const tooLate = this.#context.env.clock.sleep(CONFIRM_MS, over.signal).then(() => {
      if (over.signal.aborted) return;
      const why = `${this.#doing}: not confirmed within ${CONFIRM_MS / 1000} s`;
      throw new ConnectorError('timeout', why);
    });
    tooLate.catch(() => {});
    work.catch(() => {});
    try {
      await Promise.race([work, tooLate]);
    } finally {
      over.abort();
    }
  }

  async #connected(): Promise<MqttSession> {
    if (this.#session?.isOpen === true) return this.#session;
    const { config, context } = { config: this.#config, context: this.#context };
    const address = addressOf(config.url);
    if (address === undefined) throw new Error('cannot happen: a config with another address');
    const session = await MqttSession.open({
      address,
      config,
      clientId: config.client_id,
      clean: true,
      cwd: context.env.cwd,
      signal: context.signal,
      doing: this.#doing,
    });
    const { maximumQoS = 2, retainAvailable = true } = session.server;
    const lacks =
      config.qos > maximumQoS
        ? `the server offers quality of service ${maximumQoS} at most`
        : config.retain && !retainAvailable
          ? 'the server keeps no messages (`retain`)'
          : undefined;
    if (lacks !== undefined || this.#isClosed) {
      await session.end();
      throw new ConnectorError('refused', `${this.#doing}: ${lacks ?? 'the sink was closed'}`);
    }
    this.#session = session;
    return session;
  }
}
