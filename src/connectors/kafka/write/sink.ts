import type { Producer } from '@platformatic/kafka';
import type { SinkContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { requireOpen, type Sink, type TokenWriter, type WriteResult } from '../../../kit/sink.ts';
import { clientOptions, sinkSettings } from '../client/settings.ts';
import type { KafkaSinkConfig } from '../config.ts';
import { registryOf } from '../formats/decode.ts';
import { MessageMaker, type OutMessage } from './messages.ts';
import { sendChunks, withinTime } from './send.ts';
import type { SinkSetup } from './setup.ts';
import { Transactions } from './transactions.ts';
import { kafkaLibrary } from '../../../lib/kafka/kafka.ts';

export async function openKafkaSink(config: KafkaSinkConfig, context: SinkContext): Promise<Sink> {
  const settings = sinkSettings(config);
  return new KafkaSink({
    config,
    context,
    settings,
    options: await clientOptions(settings, context),
  });
}

class KafkaSink implements Sink {
  readonly tokens: TokenWriter;
  readonly #setup: SinkSetup;
  readonly #maker: MessageMaker;
  readonly #transactions: Transactions;
  #producer: Producer | undefined;
  /** Messages that wait for `linger` to pass, or for a flush. */
  #lingering: OutMessage[] = [];
  #lingersSinceMs = 0;
  #held: OutMessage[] = [];
  #heldRecords = 0;
  #isClosed = false;

  constructor(setup: SinkSetup) {
    const { config, context } = setup;
    this.#setup = setup;
    const registry = registryOf(config.schema_registry, context);
    this.#maker = new MessageMaker(config, registry, (topic) => this.#countPartitions(topic));
    this.#transactions = new Transactions(setup);
    this.tokens = {
      last: (scope) => this.#transactions.last(scope),
      hold: async (page) => {
        requireOpen(this.#isClosed);
        this.#held = this.#held.concat(await this.#maker.of(page));
        this.#heldRecords += page.count;
      },
      write: (page, scope, token) => this.#commit(page, scope, token),
      forget: (scope) => this.#transactions.forget(scope),
    };
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const messages = await this.#maker.of(page);
    const before = this.#lingering;
    if (before.length === 0) this.#lingersSinceMs = this.#nowMs();
    this.#lingering = before.concat(messages);
    try {
      if (this.#isDue()) await this.flush();
    } catch (error) {
      // The page may be written again; what waited before it is sent with the next one.
      this.#lingering = before;
      throw error;
    }
    return { written: messages.length, ...skippedOf(page.count - messages.length), rejected: [] };
  }

  async flush(): Promise<void> {
    if (this.#lingering.length === 0) return;
    const { settings, context } = this.#setup;
    const producer = await this.#open();
    const messages = this.#lingering;
    try {
      const sending = sendChunks(producer, messages, this.#setup);
      await withinTime(sending, { ms: settings.messageMs, signal: context.signal });
    } catch (error) {
      // What was sent may still be on its way: a producer of its own sends what comes next.
      this.#drop();
      throw error;
    }
    this.#lingering = [];
  }

  finish(): Promise<void> {
    this.#held = [];
    this.#heldRecords = 0;
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#drop();
    await this.#transactions.close();
  }

  async #commit(page: Page, scope: string, token: string): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const messages = this.#held.concat(await this.#maker.of(page));
    const records = this.#heldRecords + page.count;
    await this.#transactions.commit(messages, scope, token);
    this.#held = [];
    this.#heldRecords = 0;
    return { written: messages.length, ...skippedOf(records - messages.length), rejected: [] };
  }

  #isDue(): boolean {
    const { linger, batch_size: most } = this.#setup.config;
    if (linger === 0) return true;
    const isFull = most !== 0 && this.#lingering.length >= most;
    return isFull || this.#nowMs() - this.#lingersSinceMs >= linger * 1000;
  }

  #nowMs(): number {
    return this.#setup.context.env.clock.elapsedMs();
  }

  /** Asks as a producer does that sends: the topic may be made by that. */
  async #countPartitions(topic: string): Promise<number> {
    const { settings, context } = this.#setup;
    const producer = await this.#open();
    const asked = producer.metadata({ topics: [topic], forceUpdate: true });
    const doing = `the partitions of the topic \`${topic}\` cannot be counted`;
    const found = await withinTime(asked, {
      ms: settings.messageMs,
      signal: context.signal,
      doing,
    });
    return found.topics.get(topic)?.partitionsCount ?? 0;
  }

  async #open(): Promise<Producer> {
    const { Producer: Client } = await kafkaLibrary();
    const { options, settings } = this.#setup;
    return (this.#producer ??= new Client({
      ...options,
      timeout: Math.min(settings.messageMs, settings.requestMs),
      idempotent: settings.isIdempotent,
      acks: ACKS[settings.acks],
      compression: settings.compression,
    }));
  }

  #drop(): void {
    const producer = this.#producer;
    this.#producer = undefined;
    void producer?.close(true).catch(() => {});
  }
}

const ACKS = { all: -1, leader: 1, none: 0 } as const;

function skippedOf(count: number): Pick<WriteResult, 'skipped'> {
  return count === 0 ? {} : { skipped: count };
}
