/**
 * Records and a commit token in one transaction. The token is a message of a compacted topic, with
 * the row as its key: the last one of a row is the one that counts.
 */
import type { Admin, Consumer, Producer } from '@platformatic/kafka';
import { ConnectorError } from '../../../lib/errors.ts';
import { retriesWithin } from '../client/settings.ts';
import { LogReader, type Position } from '../read/log-reader.ts';
import { offsetsAt } from '../read/start.ts';
import type { OutMessage } from './messages.ts';
import { sendChunks, withinTime } from './send.ts';
import type { SinkSetup } from './setup.ts';
import { kafkaError, kafkaLibrary } from '../../../lib/kafka/kafka.ts';

const EARLIEST = -2n;
const LATEST = -1n;
const POLL_MS = 500;
/** Asks for the next epoch, whatever the last one was; the client would ask for that of its first. */
const ANY_EPOCH = { producerId: -1n, producerEpoch: -1 };
/** At least: a coordinator that is being made is not there for some seconds. */
const RETRIES = 30;

/** Groups are not joined; the client wants a name all the same. */
const GROUP = 'headgate-commit-tokens';

interface OwnProducer {
  readonly scope: string;
  readonly client: Producer;
  /** No other producer of the row can commit any more, and the last token was read after that. */
  isAlone: boolean;
}

export class Transactions {
  readonly #setup: SinkSetup;
  readonly #seen = new Map<string, string | undefined>();
  #producer: OwnProducer | undefined;

  constructor(setup: SinkSetup) {
    this.#setup = setup;
  }

  async last(scope: string): Promise<string | undefined> {
    const { settings, context } = this.#setup;
    const finding = async (): Promise<string | undefined> => {
      await this.#makeTopic();
      return this.#readToken(scope);
    };
    // As long as a transaction of another row may stay open.
    const ms = settings.transactionMs + settings.messageMs;
    const doing = 'the commit token was not found';
    const token = await withinTime(finding(), { ms, signal: context.signal, doing });
    this.#seen.set(scope, token);
    return token;
  }

  commit(messages: readonly OutMessage[], scope: string, token: string): Promise<void> {
    return this.#commit(messages, scope, token);
  }

  /** A message without a value, which removes those before it from a compacted topic. */
  async forget(scope: string): Promise<void> {
    if ((await this.last(scope)) !== undefined) await this.#commit([], scope, undefined);
  }

  async #commit(
    messages: readonly OutMessage[],
    scope: string,
    token: string | undefined,
  ): Promise<void> {
    const { settings, context, config } = this.#setup;
    const committing = async (): Promise<void> => {
      const client = await this.#aloneFor(scope);
      const transaction = await client.beginTransaction();
      await sendChunks(transaction, messages, this.#setup);
      const topic = config.commit_token_topic;
      const key = Buffer.from(scope);
      const value = token === undefined ? undefined : Buffer.from(token);
      await transaction.send({
        messages: [value === undefined ? { topic, key } : { topic, key, value }],
      });
      await transaction.commit();
      this.#seen.set(scope, token);
    };
    const ms = settings.messageMs + (this.#producer?.isAlone === true ? 0 : settings.transactionMs);
    try {
      await withinTime(committing(), { ms, signal: context.signal });
    } catch (error) {
      // Whoever writes next ends what is left of it.
      this.#drop();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#drop();
    return Promise.resolve();
  }

  #drop(): void {
    const client = this.#producer?.client;
    this.#producer = undefined;
    void client?.close(true).catch(() => {});
  }

  /**
   * A process that was killed may still have had a commit on its way when the last token was read.
   * From here on the brokers refuse it; if it came through before, this run goes no further.
   */
  async #aloneFor(scope: string): Promise<Producer> {
    const own = await this.#producerOf(scope);
    if (own.isAlone) return own.client;
    await fence(own.client);
    const token = await this.#readToken(scope);
    if (this.#seen.has(scope) && token !== this.#seen.get(scope))
      throw new ConnectorError('refused', 'another run of the row has committed meanwhile', {
        hint: 'run it again: it continues behind what was committed',
      });
    own.isAlone = true;
    return own.client;
  }

  async #producerOf(scope: string): Promise<OwnProducer> {
    if (this.#producer?.scope === scope) return this.#producer;
    this.#drop();
    const { options, settings, config } = this.#setup;
    const { Producer: Client } = await kafkaLibrary();
    const client = new Client({
      ...options,
      retries: Math.max(RETRIES, retriesWithin(settings.messageMs, settings.retryMs)),
      timeout: settings.transactionMs,
      idempotent: true,
      transactionalId: `${config.transactional_id_prefix}.${scope}`,
      acks: -1,
      compression: settings.compression,
    });
    this.#producer = { scope, client, isAlone: false };
    return this.#producer;
  }

  async #makeTopic(): Promise<void> {
    const { config, options } = this.#setup;
    const { Admin: Client } = await kafkaLibrary();
    const admin: Admin = new Client(options);
    try {
      const topics = await admin.listTopics({ includeInternals: true });
      if (topics.includes(config.commit_token_topic)) return;
      await admin.createTopics({
        topics: [config.commit_token_topic],
        partitions: config.commit_token_topic_partitions,
        replicas: config.commit_token_topic_replication,
        configs: [{ name: 'cleanup.policy', value: 'compact' }],
      });
    } catch (error) {
      // Another row may have made it meanwhile, or a request of this one whose answer was lost.
      const { message } = kafkaError(error, 'the topic of the commit tokens cannot be made');
      if (!message.includes('TOPIC_ALREADY_EXISTS')) throw error;
    } finally {
      void admin.close().catch(() => {});
    }
  }

  /**
   * Everything that stands in the topic now, also what is hidden by transactions of others that are
   * still open: they end, or the brokers end them.
   */
  async #readToken(scope: string): Promise<string | undefined> {
    const { config, options, context, settings } = this.#setup;
    const { Consumer: Client } = await kafkaLibrary();
    const consumer: Consumer = new Client({ ...options, groupId: GROUP, autocommit: false });
    try {
      const topic = config.commit_token_topic;
      const positions = await positionsAt(consumer, topic, EARLIEST);
      const ends = await positionsAt(consumer, topic, LATEST);
      const reader = new LogReader(
        {
          consumer,
          settings: { fetch: { ...settings.fetch, maxWaitMs: POLL_MS }, readsUncommitted: false },
          context,
          outOfRange: (_at, { start }) => start,
        },
        positions,
      );
      let last: string | undefined;
      for (let waits = 0; !reader.hasReached(ends);) {
        const message = await reader.next(POLL_MS);
        if (message?.key?.toString() === scope) last = message.value?.toString();
        // It may be the row's own, of a process that was killed; that one can be ended at once.
        if (message === undefined && (waits += 1) === 3)
          await fence((await this.#producerOf(scope)).client);
      }
      return last;
    } catch (error) {
      if (error instanceof ConnectorError && error.kind === 'missing') return undefined;
      throw error;
    } finally {
      void consumer.close().catch(() => {});
    }
  }
}

/** Ends transactions of the same id that are open, and keeps their producers from going on. */
async function fence(client: Producer): Promise<void> {
  const transaction = await client.beginTransaction(ANY_EPOCH);
  await transaction.cancel();
}

/** The end is that of the log, whatever readers of committed messages may see of it. */
async function positionsAt(
  consumer: Consumer,
  topic: string,
  timestamp: bigint,
): Promise<Position[]> {
  const found = await offsetsAt(consumer, [topic], timestamp);
  return (found.get(topic) ?? []).map((offset, partition) => ({ topic, partition, offset }));
}
