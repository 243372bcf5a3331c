/** A queue as a consumer reads it: what is not acknowledged comes again. */
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { Inbox } from '../_brokers/inbox.ts';
import type { MessageQueue } from '../_brokers/message-source.ts';
import type { RabbitmqSourceConfig } from './config.ts';
import { rabbitmqError } from './errors.ts';
import type { RabbitmqLink } from './link.ts';
import { sizeOf, type RabbitmqMessage } from './message.ts';

const PREFETCHED = 1000;
const MOST_PREFETCHED = 65_535;
const CLOSE_MS = 800;
const ANSWER_MS = 10_000;
/** A stream would show nothing of what it holds, and so not be told from a queue without messages. */
const FROM_FIRST = { 'x-stream-offset': 'first' } as const;

interface Session {
  readonly channel: Channel;
  /** Of the consumer, while it gets messages. */
  tag: string | undefined;
  /** How many more it may take. */
  wanted: number;
}

export class RabbitmqQueue implements MessageQueue<RabbitmqMessage> {
  readonly acknowledge?: (messages: readonly RabbitmqMessage[]) => Promise<void>;
  readonly mostOpen: number;
  readonly #link: RabbitmqLink;
  readonly #config: RabbitmqSourceConfig;
  readonly #context: SourceContext;
  readonly #inbox = new Inbox<RabbitmqMessage>();
  readonly #doing: string;
  #session: Session | undefined;
  /** Of what waits to be taken. */
  #bytes = 0;

  constructor(link: RabbitmqLink, config: RabbitmqSourceConfig, context: SourceContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#doing = `the queue \`${config.queue}\` cannot be read`;
    this.mostOpen = config.prefetch ?? usualPrefetch(config.batch_size);
    if (config.ack_mode === 'on_sink_confirm')
      this.acknowledge = (messages) => this.#acknowledge(messages);
  }

  take(): RabbitmqMessage | undefined {
    const taken = this.#inbox.take();
    if (taken === undefined) return undefined;
    this.#bytes -= sizeOf(taken);
    if (this.acknowledge === undefined && taken.channel === this.#session?.channel)
      taken.channel.ack(taken.message);
    return taken;
  }

  async wait(most: number, ms: number): Promise<void> {
    const { signal, env } = this.#context;
    if (this.#inbox.length === 0) await this.#consume(most);
    await this.#inbox.arrival(ms, { clock: env.clock, signal });
  }

  /** A server answers what it is asked on a channel after the messages that it has sent there. */
  async hasAnswered(): Promise<boolean> {
    const channel = this.#session?.channel;
    if (channel === undefined) return false;
    await this.#link.run(this.#doing, () => this.#inTime(channel.prefetch(this.mostOpen)));
    return true;
  }

  async #inTime(answer: Promise<unknown>): Promise<void> {
    const answered = new AbortController();
    const silence = this.#context.env.clock.sleep(ANSWER_MS, answered.signal).then(() => {
      throw new ConnectorError('timeout', `${this.#doing}: the server does not answer`);
    });
    try {
      await Promise.race([answer, silence]);
    } finally {
      answered.abort();
      silence.catch(() => {});
    }
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    // The server puts back what was not acknowledged when its channel ends.
    const ended = session?.channel.close().catch(() => {});
    await Promise.race([ended, this.#context.env.clock.sleep(CLOSE_MS)]);
    await this.#link.close();
  }

  /** Messages of a channel that was lost come again, and are acknowledged then. */
  async #acknowledge(messages: readonly RabbitmqMessage[]): Promise<void> {
    const channel = this.#session?.channel;
    const last = messages.findLast((one) => one.channel === channel);
    if (channel === undefined || last === undefined) return;
    await this.#link.run('messages cannot be acknowledged', async () => {
      channel.ack(last.message, true);
      // Answered when all before it is done.
      await channel.prefetch(this.mostOpen);
    });
  }

  async #consume(most: number): Promise<void> {
    if (this.#session?.tag !== undefined) return;
    await this.#link.run(this.#doing, async (model) => {
      const session = (this.#session ??= await this.#open(model));
      if (session.tag !== undefined) return;
      session.wanted = most;
      const { queue, consumer_tag: consumerTag } = this.#config;
      const options = {
        ...(consumerTag === undefined ? {} : { consumerTag }),
        ...(this.#mayBeStream ? { arguments: FROM_FIRST } : {}),
      };
      const { consumerTag: tag } = await session.channel.consume(
        queue,
        (message) => this.#received(session, message),
        options,
      );
      session.tag = tag;
      this.#pauseWhereFull(session);
    });
  }

  async #open(model: ChannelModel): Promise<Session> {
    const channel = await model.createChannel();
    const session: Session = { channel, tag: undefined, wanted: 0 };
    const lost = (error: unknown): void => {
      if (this.#session !== session) return;
      this.#session = undefined;
      this.#inbox.fail(rabbitmqError(error, this.#doing));
    };
    channel.on('error', lost);
    channel.on('close', () => lost(new Error('the connection was lost')));
    await this.#prepare(channel);
    await channel.prefetch(this.mostOpen);
    return session;
  }

  async #prepare(channel: Channel): Promise<void> {
    const { queue, declare_queue: declares, queue_durable: durable, bindings } = this.#config;
    if (declares) await channel.assertQueue(queue, { durable });
    for (const { exchange, exchange_kind: kind, routing_key: key } of bindings) {
      if (kind !== undefined) await channel.assertExchange(exchange, kind, { durable: true });
      await channel.bindQueue(queue, exchange, key);
    }
  }

  #received(session: Session, message: ConsumeMessage | null): void {
    if (message === null) {
      const why = `${this.#doing}: the queue was deleted`;
      return this.#inbox.fail(new ConnectorError('missing', why));
    }
    if (session !== this.#session) return;
    if (this.#mayBeStream && isOfStream(message)) return this.#inbox.fail(this.#streamError());
    const received = { message, channel: session.channel };
    this.#bytes += sizeOf(received);
    session.wanted -= 1;
    this.#inbox.push(received);
    this.#pauseWhereFull(session);
  }

  /** One that is declared as a queue is none. */
  get #mayBeStream(): boolean {
    return !this.#config.declare_queue;
  }

  #streamError(): ConnectorError {
    const why = `${this.#doing}: it is a stream, which does not remember what was acknowledged`;
    const hint =
      'read a queue; where it is one, with messages that were copied from a stream, set `declare_queue: true`';
    return new ConnectorError('refused', why, { hint });
  }

  /** Others get what this run does not take, and long messages do not fill the memory. */
  #pauseWhereFull(session: Session): void {
    const { tag, wanted, channel } = session;
    const isFull = this.#bytes > this.#context.pageBytes;
    if (tag === undefined || (wanted > 0 && !isFull)) return;
    session.tag = undefined;
    channel.cancel(tag).catch((error: unknown) => {
      if (session === this.#session) this.#inbox.fail(rabbitmqError(error, this.#doing));
    });
  }
}

function isOfStream({ properties }: ConsumeMessage): boolean {
  return properties.headers?.['x-stream-offset'] !== undefined;
}

function usualPrefetch(batchSize: number): number {
  const pages = batchSize === 0 ? MOST_PREFETCHED : Math.max(PREFETCHED, batchSize * 2);
  return Math.min(pages, MOST_PREFETCHED);
}
