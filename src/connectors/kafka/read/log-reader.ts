/**
 * Messages of partitions from given offsets on. It is no member of a group: all partitions are its
 * own, so what it reads depends on the offsets alone.
 */
import type { Consumer } from '@platformatic/kafka';
import type { SourceContext } from '../../../kit/context.ts';
import { kafkaError } from '../../../lib/kafka/kafka.ts';
import type { ClientSettings } from '../client/client-settings.ts';

/** A message as the broker gives it. */
export interface LogMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** Milliseconds; 0 when there is none. */
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

/** One that was not taken yet. */
interface Waiting extends LogMessage {
  readonly log: Log;
}

export interface Position {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

interface Log {
  readonly topic: string;
  readonly partition: number;
  /** The next offset to ask for. */
  next: bigint;
  /** The offset behind the last message that was taken. */
  taken: bigint;
  /** Where the partition ends, as far as it was told. */
  end: bigint | undefined;
  /** Messages that were fetched and not taken. */
  waiting: number;
}

export interface LogReaderOptions {
  readonly consumer: Consumer;
  readonly settings: Pick<ClientSettings, 'fetch' | 'readsUncommitted'>;
  readonly context: Pick<SourceContext, 'env' | 'signal'>;
  /** Where to go on when an offset is not there any more, or not yet. */
  readonly outOfRange: (at: Position, range: OffsetRange) => bigint;
  /** Whether partitions that are added to its topics meanwhile are its own, too. */
  readonly readsAll?: boolean;
}

export interface OffsetRange {
  readonly start: bigint;
  readonly end: bigint;
}

type Fetched = Awaited<ReturnType<Consumer['fetch']>>;
type FetchedPartition = Fetched['responses'][number]['partitions'][number];
type Batch = NonNullable<FetchedPartition['records']>[number];

/** Bits of the attributes of a batch. */
const LOG_APPEND_TIME = 0b1000;
const TRANSACTIONAL = 0b1_0000;
const CONTROL = 0b10_0000;

const READ_UNCOMMITTED = 0;
/**
 * 1 on the wire. At the number 1 the client leaves messages out by itself, and takes everything
 * between an aborted transaction of a producer and the last end of one that was aborted: what it
 * committed between them too. See `abortedOf`.
 */
const READ_COMMITTED = true as unknown as number;
/** So many messages are left when more are asked for, or half of what came where that is more. */
const FEW = 500;

const EARLIEST = -2n;
const LATEST = -1n;

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #logs = new Map<string, Log>();
  /** Of partitions, by topic. */
  readonly #counts = new Map<string, number>();
  /** One request at a time for each broker. */
  readonly #fetching = new Map<number, Promise<void>>();
  /** Brokers whose last answer was a failure, or none. */
  readonly #failing = new Set<number>();
  #messages: Waiting[] = [];
  #at = 0;
  #few = FEW;
  #failure: unknown;
  #topicNames = new Map<string, string>();
  #isStale = false;
  /** Answers behind which there may be more: something was read, or the broker held it back. */
  #unfinished = 0;

  constructor(options: LogReaderOptions, positions: readonly Position[]) {
    this.#options = options;
    for (const position of positions) this.#begin(position);
    options.consumer.topics.trackAll(...new Set(positions.map(({ topic }) => topic)));
  }

  /**
   * The next message, or `undefined` when none has come within the time. Brokers that are asked now
   * answer after `answerMs` at the latest.
   */
  async next(waitMs: number, answerMs = Infinity): Promise<LogMessage | undefined> {
    const { env, signal } = this.#options.context;
    for (let left = waitMs; ;) {
      const message = this.take();
      if (message !== undefined) return message;
      signal.throwIfAborted();
      await this.#startFetches(answerMs);
      if (left <= 0) return undefined;
      const from = env.clock.elapsedMs();
      const enough = new AbortController();
      const waits = AbortSignal.any([signal, enough.signal]);
      await Promise.race([...this.#fetching.values(), env.clock.sleep(left, waits)]);
      enough.abort();
      if (this.#failure !== undefined) throw this.#takeFailure();
      left -= Math.max(1, env.clock.elapsedMs() - from);
      if (left <= 0) return this.take();
    }
  }

  /**
   * The next message, or `undefined` once every broker has answered that it has none. Brokers are
   * waited for, and not partitions: an answer leaves out those that are as in the one before.
   */
  async nextByAll(): Promise<LogMessage | undefined> {
    for (;;) {
      const message = this.take();
      if (message !== undefined) return message;
      this.#options.context.signal.throwIfAborted();
      const before = this.#unfinished;
      await this.#startFetches(0);
      await Promise.all(this.#fetching.values());
      if (this.#failure !== undefined) throw this.#takeFailure();
      if (this.#unfinished === before) return this.take();
    }
  }

  /** Where everything stands behind the messages that were taken, or in front of the last of them. */
  positions(before?: LogMessage): Position[] {
    return [...this.#logs.values()]
      .map(({ topic, partition, taken }) => {
        const isThere = before?.topic === topic && before.partition === partition;
        return { topic, partition, offset: isThere ? before.offset : taken };
      })
      .sort((a, b) =>
        a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
      );
  }

  /** Messages behind these positions; `undefined` as long as not every end is known. */
  behind(positions: readonly Position[]): number | undefined {
    let sum = 0n;
    for (const { topic, partition, offset } of positions) {
      const end = this.#logs.get(keyOf(topic, partition))?.end;
      if (end === undefined) return undefined;
      if (end > offset) sum += end - offset;
    }
    return Number(sum);
  }

  /** Whether a broker has failed, and not answered since. */
  get isFailing(): boolean {
    return this.#failing.size > 0;
  }

  /** Whether every partition was read up to the end that it had then. */
  hasReached(ends: readonly Position[]): boolean {
    return ends.every(({ topic, partition, offset }) => {
      const log = this.#logs.get(keyOf(topic, partition));
      return log === undefined || log.taken >= offset;
    });
  }

  /** What has come already. */
  take(): LogMessage | undefined {
    const message = this.#messages[this.#at];
    if (message === undefined) return undefined;
    this.#at += 1;
    const left = this.#messages.length - this.#at;
    if (left === this.#few) void this.#fetchAhead();
    if (left === 0) {
      this.#messages = [];
      this.#at = 0;
    }
    const { log } = message;
    log.waiting -= 1;
    // Behind the last one there may be marks of transactions, which are no messages.
    log.taken = log.waiting === 0 ? log.next : message.offset + 1n;
    return message;
  }

  #takeFailure(): unknown {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** The last messages are worked on while the brokers answer. A failure is told by `next`. */
  async #fetchAhead(): Promise<void> {
    await this.#startFetches().catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  /** Called when there is little or nothing left to take: that bounds the memory. */
  async #startFetches(answerMs = Infinity): Promise<void> {
    const { consumer, settings } = this.#options;
    if (this.#logs.size === 0) return;
    const metadata = await this.#metadata();
    const byNode = new Map<number, Log[]>();
    for (const log of this.#logs.values()) {
      const leader = metadata.topics.get(log.topic)?.partitions[log.partition]?.leader ?? -1;
      byNode.set(leader, [...(byNode.get(leader) ?? []), log]);
    }
    // Others lead the partitions of one that has failed.
    for (const node of this.#failing) if (!byNode.has(node)) this.#failing.delete(node);
    for (const [node, logs] of byNode) {
      if (this.#fetching.has(node)) continue;
      const { minBytes, maxBytes, partitionBytes, maxWaitMs } = settings.fetch;
      const topics = new Map<string, { topicId: string; partitions: object[] }>();
      for (const { topic, partition, next } of logs) {
        const topicId = metadata.topics.get(topic)?.id ?? '';
        const entry = topics.get(topic) ?? { topicId, partitions: [] };
        entry.partitions.push({
          partition,
          fetchOffset: next,
          partitionMaxBytes: partitionBytes,
          currentLeaderEpoch: -1,
          lastFetchedEpoch: -1,
        });
        topics.set(topic, entry);
      }
      const request = {
        node,
        minBytes,
        maxBytes,
        maxWaitTime: Math.min(maxWaitMs, answerMs),
        isolationLevel: settings.readsUncommitted ? READ_UNCOMMITTED : READ_COMMITTED,
        topics: [...topics.values()] as Parameters<Consumer['fetch']>[0]['topics'],
      };
      const work = consumer
        .fetch(request)
        .then((found) => this.#add(found))
        .catch((error: unknown) => this.#recover(error))
        .then(() => void this.#failing.delete(node))
        .catch((error: unknown) => {
          this.#failing.add(node);
          this.#failure ??= error;
        })
        .finally(() => this.#fetching.delete(node));
      this.#fetching.set(node, work);
    }
  }

  async #metadata() {
    const topics = [...new Set([...this.#logs.values()].map(({ topic }) => topic))];
    const forceUpdate = this.#isStale;
    const found = await this.#options.consumer.metadata({ topics, forceUpdate });
    this.#isStale = false;
    this.#topicNames = new Map([...found.topics].map(([name, { id }]) => [id, name]));
    if (this.#options.readsAll)
      for (const [topic, { partitionsCount }] of found.topics) this.#grow(topic, partitionsCount);
    return found;
  }

  #begin({ topic, partition, offset }: Position): void {
    const log = { topic, partition, next: offset, taken: offset, end: undefined, waiting: 0 };
    this.#logs.set(keyOf(topic, partition), log);
    this.#counts.set(topic, (this.#counts.get(topic) ?? 0) + 1);
  }

  /** Partitions that were added meanwhile are new from their beginning. */
  #grow(topic: string, count: number): void {
    if (count <= (this.#counts.get(topic) ?? 0)) return;
    for (let partition = 0; partition < count; partition += 1) {
      if (this.#logs.has(keyOf(topic, partition))) continue;
      this.#begin({ topic, partition, offset: 0n });
      this.#options.context.env.log.info('a partition was added', { topic, partition });
    }
  }

  #add({ responses, throttleTimeMs }: Fetched): void {
    if (throttleTimeMs > 0) this.#unfinished += 1;
    this.#messages = this.#messages.slice(this.#at);
    this.#at = 0;
    for (const { topicId, partitions } of responses) {
      const topic = this.#topicNames.get(topicId);
      for (const found of partitions) {
        const log = this.#logs.get(keyOf(topic ?? '', found.partitionIndex));
        if (log !== undefined) this.#addPartition(log, found);
      }
    }
    this.#few = Math.max(FEW, Math.floor(this.#messages.length / 2));
  }

  #addPartition(log: Log, found: FetchedPartition): void {
    const end = this.#options.settings.readsUncommitted
      ? found.highWatermark
      : found.lastStableOffset;
    if (end >= 0n) log.end = end;
    const isAborted = abortedOf(found);
    for (const batch of found.records ?? []) {
      const last = lastOf(batch);
      const isControl = (batch.attributes & CONTROL) !== 0;
      const isLeftOut = isAborted(batch);
      if (last < log.next) continue;
      const appended = (batch.attributes & LOG_APPEND_TIME) !== 0 ? batch.maxTimestamp : undefined;
      for (const record of isControl || isLeftOut ? [] : batch.records) {
        const offset = batch.firstOffset + BigInt(record.offsetDelta);
        if (offset < log.next) continue;
        const timestamp = Number(appended ?? batch.firstTimestamp + record.timestampDelta);
        this.#messages.push({
          log,
          topic: log.topic,
          partition: log.partition,
          offset,
          timestamp: Math.max(0, timestamp),
          key: record.key,
          value: record.value,
          headers: record.headers,
        });
        log.waiting += 1;
      }
      log.next = last + 1n;
      this.#unfinished += 1;
    }
    if (log.waiting === 0) log.taken = log.next;
  }

  /** An offset that is not there is told with those that are; any other failure is told as it is. */
  async #recover(error: unknown): Promise<void> {
    this.#isStale = true;
    const failure = kafkaError(error, 'messages cannot be fetched');
    if (!failure.message.includes('OFFSET_OUT_OF_RANGE')) throw failure;
    for (const log of this.#logs.values()) {
      const range = await this.#rangeOf(log);
      if (log.next >= range.start && log.next <= range.end) continue;
      const at = { topic: log.topic, partition: log.partition, offset: log.next };
      log.next = this.#options.outOfRange(at, range);
      this.#unfinished += 1;
      if (log.waiting === 0) log.taken = log.next;
    }
  }

  async #rangeOf({ topic, partition }: Log): Promise<OffsetRange> {
    const { consumer } = this.#options;
    const at = async (timestamp: bigint): Promise<bigint> => {
      const partitions = { [topic]: [partition] };
      const found = await consumer.listOffsets({ topics: [topic], partitions, timestamp });
      return found.get(topic)?.[partition] ?? 0n;
    };
    return { start: await at(EARLIEST), end: await at(LATEST) };
  }
}

function lastOf({ firstOffset, lastOffsetDelta }: Batch): bigint {
  return firstOffset + BigInt(lastOffsetDelta);
}

/** Says of one batch after the other whether its transaction was aborted. */
function abortedOf({ abortedTransactions }: FetchedPartition): (batch: Batch) => boolean {
  if ((abortedTransactions ?? []).length === 0) return () => false;
  const coming = [...(abortedTransactions ?? [])].sort((a, b) =>
    a.firstOffset < b.firstOffset ? -1 : 1,
  );
  const open = new Set<bigint>();
  return (batch) => {
    for (let next = coming[0]; next !== undefined && next.firstOffset <= lastOf(batch);) {
      open.add(next.producerId);
      coming.shift();
      next = coming[0];
    }
    const isOpen = open.has(batch.producerId);
    if ((batch.attributes & CONTROL) !== 0) open.delete(batch.producerId);
    return isOpen && (batch.attributes & TRANSACTIONAL) !== 0;
  };
}

export function keyOf(topic: string, partition: number): string {
  return `${topic}\0${partition}`;
}
