/** Where a read begins: behind its bookmark, at what the group has committed, or at an end. */
import type { Consumer } from '@platformatic/kafka';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { KafkaSourceConfig } from '../config.ts';
import { keyOf, type Position } from './log-reader.ts';

const EARLIEST = -2n;
const LATEST = -1n;

export interface Start {
  readonly positions: readonly Position[];
  /** Some of them are only "behind what is there now", which a later read would not find again. */
  readonly isAnchor: boolean;
}

export async function startOf(
  consumer: Consumer,
  { topics, auto_offset_reset: reset }: KafkaSourceConfig,
  bookmark: JsonValue | undefined,
): Promise<Start> {
  const partitions = await partitionsOf(consumer, topics);
  const marked = markedOffsets(bookmark);
  const read = new Set(positionsIn(bookmark).map(({ topic }) => topic));
  const open = partitions.filter(({ topic, partition }) => !marked.has(keyOf(topic, partition)));
  // A partition that the bookmark does not have of a topic was added since: all of it is new.
  const isFromEnd = (topic: string): boolean => reset === 'latest' && !read.has(topic);
  const topicsOf = (isEnd: boolean): string[] => [
    ...new Set(open.map(({ topic }) => topic).filter((topic) => isFromEnd(topic) === isEnd)),
  ];
  const [committed, ends, starts] = await Promise.all([
    open.length === 0 ? new Map<string, bigint>() : committedOffsets(consumer, open),
    offsetsAt(consumer, topicsOf(true), LATEST),
    offsetsAt(consumer, topicsOf(false), EARLIEST),
  ]);
  let isAnchor = false;
  const positions = partitions.map(({ topic, partition }): Position => {
    const key = keyOf(topic, partition);
    const known = marked.get(key) ?? committed.get(key);
    if (known === undefined && isFromEnd(topic)) isAnchor = true;
    const first = (isFromEnd(topic) ? ends : starts).get(topic)?.[partition] ?? 0n;
    return { topic, partition, offset: known ?? first };
  });
  return { positions, isAnchor };
}

/**
 * Where a member of the group begins with partitions that it was given: at what the group has
 * committed, or behind the bookmark of a run without members where that is farther.
 */
export async function startOfMember(
  consumer: Consumer,
  { auto_offset_reset: reset }: KafkaSourceConfig,
  { partitions, bookmark }: { partitions: readonly Partition[]; bookmark: JsonValue | undefined },
): Promise<Start> {
  if (partitions.length === 0) return { positions: [], isAnchor: false };
  const marked = markedOffsets(bookmark);
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  const [committed, ends] = await Promise.all([
    committedOffsets(consumer, partitions),
    offsetsAt(consumer, topics, reset === 'earliest' ? EARLIEST : LATEST),
  ]);
  let isAnchor = false;
  const positions = partitions.map(({ topic, partition }): Position => {
    const key = keyOf(topic, partition);
    const [first = -1n, second = -1n] = [marked.get(key), committed.get(key)];
    const known = first > second ? first : second;
    if (known < 0n) isAnchor = true;
    return { topic, partition, offset: known < 0n ? (ends.get(topic)?.[partition] ?? 0n) : known };
  });
  return { positions, isAnchor };
}

export type Partition = Pick<Position, 'topic' | 'partition'>;

/** Of all topics; one that is not there is an error. */
export async function partitionsOf(
  client: Pick<Consumer, 'metadata'>,
  topics: readonly string[],
): Promise<Partition[]> {
  const metadata = await client.metadata({ topics: [...topics], forceUpdate: true });
  return topics.flatMap((topic) => {
    const { partitionsCount: count = 0 } = metadata.topics.get(topic) ?? {};
    if (count === 0) throw new ConnectorError('missing', `Kafka has no topic \`${topic}\``);
    return Array.from({ length: count }, (_, partition) => ({ topic, partition }));
  });
}

/** Ends are those for readers of committed messages: before the first transaction that is open. */
export async function offsetsAt(
  consumer: Consumer,
  topics: readonly string[],
  timestamp: bigint,
): Promise<ReadonlyMap<string, readonly bigint[]>> {
  if (topics.length === 0) return new Map();
  return consumer.listOffsets({ topics: [...topics], timestamp });
}

async function committedOffsets(
  consumer: Consumer,
  open: readonly Partition[],
): Promise<ReadonlyMap<string, bigint>> {
  const topics = [...new Set(open.map(({ topic }) => topic))].map((topic) => ({
    topic,
    partitions: open.filter((one) => one.topic === topic).map(({ partition }) => partition),
  }));
  const found = await consumer.listCommittedOffsets({ topics });
  const offsets = new Map<string, bigint>();
  for (const { topic, partitions } of topics)
    for (const partition of partitions) {
      const offset = found.get(topic)?.[partition] ?? -1n;
      if (offset >= 0n) offsets.set(keyOf(topic, partition), offset);
    }
  return offsets;
}

/** `generation`: that of the group in which a member was given the partitions. */
export function bookmarkOf(positions: readonly Position[], generation?: number): JsonObject {
  return {
    ...(generation === undefined ? {} : { generation }),
    partition_offsets: positions.map(({ topic, partition, offset }) => ({
      topic,
      partition,
      offset: exact(offset),
    })),
  };
}

/** Integers as JSON holds them: beyond 2^53 as `bigint`. */
export function exact(value: bigint): number | bigint {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

function markedOffsets(bookmark: JsonValue | undefined): ReadonlyMap<string, bigint> {
  return new Map(positionsIn(bookmark).map((one) => [keyOf(one.topic, one.partition), one.offset]));
}

export function positionsIn(bookmark: JsonValue | undefined): Position[] {
  if (bookmark === undefined) return [];
  const listed = isObject(bookmark) ? bookmark['partition_offsets'] : undefined;
  if (!Array.isArray(listed)) throw unreadable();
  return listed.map((one) => {
    const { topic = null, partition = null, offset = null } = isObject(one) ? one : {};
    const isOffset = typeof offset === 'bigint' || Number.isSafeInteger(offset);
    if (typeof topic !== 'string' || typeof partition !== 'number' || !isOffset) throw unreadable();
    return { topic, partition, offset: BigInt(offset as number | bigint) };
  });
}

export function generationIn(bookmark: JsonValue): number | undefined {
  const generation = isObject(bookmark) ? bookmark['generation'] : undefined;
  return typeof generation === 'number' ? generation : undefined;
}

function unreadable(): ConnectorError {
  return new ConnectorError('data', 'the bookmark is none of the source kafka', {
    hint: 'remove it from the state store to start over',
  });
}
