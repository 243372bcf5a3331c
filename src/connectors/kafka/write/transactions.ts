/**
 * Records and a commit token in one transaction. The token is a message of a compacted topic, with
 * the row as its key: the last one of a row is the one that counts.
 */
import type { Admin, Consumer, Producer } from '@platformatic/kafka';
import {
  executionOf,
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { backoffMs, type BackoffPolicy } from '../../../lib/time/backoff.ts';
import { retriesWithin } from '../client/settings.ts';
import { LogReader, type Position } from '../read/log-reader.ts';
import type { OutMessage } from './messages.ts';
import { sendChunks, withinTime } from './send.ts';
import type { SinkSetup } from './setup.ts';
import { isFenced, kafkaError, kafkaLibrary } from '../../../lib/kafka/kafka.ts';

const EARLIEST = -2n;
const LATEST = -1n;
const READ_UNCOMMITTED = 0;
const POLL_MS = 500;
/** Asks for the next epoch, whatever the last one was; the client would ask for that of its first. */
const ANY_EPOCH = { producerId: -1n, producerEpoch: -1 };
/** At least: a coordinator that is being made is not there for some seconds. */
const RETRIES = 30;
/** How often executions that were lost may wake up while a page is committed or a row is taken over. */
const FENCED_TRIES = 8;
const FENCED_PAUSE: BackoffPolicy = {
  backoff: 'exponential',
  baseMs: 50,
  maxMs: 2000,
  jitter: true,
};

/** Groups are not joined; the client wants a name all the same. */
const GROUP = 'headgate-commit-tokens';

interface OwnProducer {
  readonly scope: string;
  readonly client: Producer;
  /** No other producer of the row can commit any more, and the last token was read after that. */
  isAlone: boolean;
}

/** What the topic says of a row. */
interface Stored {
  readonly token: string | undefined;
  /** The execution that took the row over last, where servers share their runs. */
  readonly holder: string | undefined;
}

export class Transactions {
  readonly #setup: SinkSetup;
  /** Absent where no other server takes the run over. */
  readonly #execution: Execution | undefined;
  readonly #seen = new Map<string, string | undefined>();
  #producer: OwnProducer | undefined;

  constructor(setup: SinkSetup) {
    this.#setup = setup;
    this.#execution = executionOf(setup.context);
  }

  async last(scope: string): Promise<string | undefined> {
    const { settings, context } = this.#setup;
    const finding = async (): Promise<string | undefined> => {
      await this.#makeTopic();
      const execution = this.#execution;
      return execution === undefined
        ? (await this.#read(scope)).token
        : this.#againWhenFenced(() => this.#takeOver(scope, execution));
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
    const { settings, context } = this.#setup;
    const committing = (): Promise<void> =>
      this.#againWhenFenced(() => this.#commitOnce(messages, scope, token));
    const mayWait = this.#execution !== undefined || this.#producer?.isAlone !== true;
    const ms = settings.messageMs + (mayWait ? settings.transactionMs : 0);
    try {
      await withinTime(committing(), { ms, signal: context.signal });
    } catch (error) {
      // Whoever writes next ends what is left of it.
      this.#drop();
      throw error;
    }
  }

  /** An execution that was lost may wake up, and fence this one before it sees its mark. */
  async #againWhenFenced<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1)
      try {
        return await work();
      } catch (error) {
        if (this.#execution === undefined || tries === FENCED_TRIES || !isFenced(error))
          throw error;
        this.#drop();
        // Two that fence each other would do so again and again.
        const { env, signal } = this.#setup.context;
        await env.clock.sleep(backoffMs(FENCED_PAUSE, tries - 1), signal);
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

  async #commitOnce(
    messages: readonly OutMessage[],
    scope: string,
    token: string | undefined,
  ): Promise<void> {
    const own = await this.#producerOf(scope);
    const isThere = !own.isAlone && (await this.#makeAlone(own, token));
    if (!isThere) await this.#send(own, messages, { name: scope, value: token });
    this.#seen.set(scope, token);
  }

  /** The messages and a mark in one transaction; a mark without a value is removed. */
  async #send(
    { client }: OwnProducer,
    messages: readonly OutMessage[],
    { name, value }: { readonly name: string; readonly value: string | undefined },
  ): Promise<void> {
    const transaction = await client.beginTransaction();
    await sendChunks(transaction, messages, this.#setup);
    const topic = this.#setup.config.commit_token_topic;
    const key = Buffer.from(name);
    const mark = value === undefined ? { topic, key } : { topic, key, value: Buffer.from(value) };
    await transaction.send({ messages: [mark] });
    await transaction.commit();
  }

  /**
   * From now on only this execution commits for the row. It has fenced those before it when it
   * writes its mark; one that was frozen may fence it later, and finds the mark then.
   */
  async #takeOver(scope: string, execution: Execution): Promise<string | undefined> {
    const own = await this.#producerOf(scope);
    if (own.isAlone) return (await this.#read(scope)).token;
    try {
      await fence(own.client);
      const { token, holder } = await this.#read(scope);
      if (isLater(holder, execution)) throw takenOverError(scope);
      const mark = { name: executionScope(scope), value: executionText(execution) };
      if (holder !== mark.value) await this.#send(own, [], mark);
      own.isAlone = true;
      return token;
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  /**
   * A process that was killed may still have had a commit on its way when the last token was read.
   * From here on the brokers refuse it; if it came through before, this run goes no further. True
   * when the token was committed by this execution, and the answer was lost.
   */
  async #makeAlone(own: OwnProducer, token: string | undefined): Promise<boolean> {
    const { scope } = own;
    await fence(own.client);
    const stored = await this.#read(scope);
    const execution = this.#execution;
    if (execution !== undefined && stored.holder !== executionText(execution))
      throw takenOverError(scope);
    const isChanged = this.#seen.has(scope) && stored.token !== this.#seen.get(scope);
    const isThere = isChanged && execution !== undefined && stored.token === token;
    if (isChanged && !isThere)
      throw new ConnectorError('refused', 'another run of the row has committed meanwhile', {
        hint: 'run it again: it continues behind what was committed',
      });
    own.isAlone = true;
    return isThere;
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
  async #read(scope: string): Promise<Stored> {
    const { config, options, context, settings } = this.#setup;
    const { Consumer: Client } = await kafkaLibrary();
    const consumer: Consumer = new Client({ ...options, groupId: GROUP, autocommit: false });
    try {
      const topic = config.commit_token_topic;
      const positions = await positionsAt(consumer, topic, EARLIEST);
      let ends = await positionsAt(consumer, topic, LATEST);
      const reader = new LogReader(
        {
          consumer,
          settings: { fetch: { ...settings.fetch, maxWaitMs: POLL_MS }, readsUncommitted: false },
          context,
          outOfRange: (_at, { start }) => start,
        },
        positions,
      );
      const mark = executionScope(scope);
      const found = new Map<string, string | undefined>();
      for (let waits = 0; !reader.hasReached(ends);) {
        const message = await reader.next(POLL_MS);
        const key = message?.key?.toString();
        if (key === scope || key === mark) found.set(key, message?.value?.toString());
        // It may be the row's own, of a process that was killed; that one can be ended at once.
        if (message === undefined && (waits += 1) === 3) {
          await fence((await this.#producerOf(scope)).client);
          // Another execution may have committed before that, behind the end as it was.
          ends = await positionsAt(consumer, topic, LATEST);
        }
      }
      return { token: found.get(scope), holder: found.get(mark) };
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

/** The end is that of the log, also behind transactions of others that are still open. */
async function positionsAt(
  consumer: Consumer,
  topic: string,
  timestamp: bigint,
): Promise<Position[]> {
  const found = await consumer.listOffsets({
    topics: [topic],
    timestamp,
    isolationLevel: READ_UNCOMMITTED,
  });
  return (found.get(topic) ?? []).map((offset, partition) => ({ topic, partition, offset }));
}
