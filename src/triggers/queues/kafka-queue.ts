/** How many records of a Kafka topic a consumer group has yet to read. */
import type { Admin } from '@platformatic/kafka';
import { AppError, ConnectorError } from '../../lib/errors.ts';
import { brokerList, kafkaError, kafkaLibrary } from '../../lib/kafka/kafka.ts';
import { untilStopped } from '../../lib/until-stopped.ts';

export interface KafkaQueue {
  /** `host:port`, separated by commas. */
  readonly brokers: string;
  readonly topic: string;
  readonly group: string;
}

const TIMEOUT_MS = 5000;
const LATEST = -1n;
const EARLIEST = -2n;

/** A connection for each count: looks are seconds apart. */
export async function kafkaLag(queue: KafkaQueue, signal: AbortSignal): Promise<number> {
  const admin = await openAdmin(queue.brokers);
  try {
    return await untilStopped(lagOf(admin, queue), signal);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw kafkaError(error, `Kafka cannot count what \`${queue.group}\` has yet to read`);
  } finally {
    await admin.close().catch(() => {});
  }
}

async function openAdmin(brokers: string): Promise<Admin> {
  const kafka = await kafkaLibrary();
  return new kafka.Admin({
    clientId: 'headgate',
    bootstrapBrokers: brokerList(brokers),
    connectTimeout: TIMEOUT_MS,
    requestTimeout: TIMEOUT_MS,
    timeout: TIMEOUT_MS,
    retries: 1,
    retryDelay: 100,
  });
}

async function lagOf(admin: Admin, { topic, group }: KafkaQueue): Promise<number> {
  const metadata = await admin.metadata({ topics: [topic], forceUpdate: true });
  const partitions = metadata.topics.get(topic)?.partitions.map((_, index) => index) ?? [];
  if (partitions.length === 0)
    throw new ConnectorError('missing', `Kafka has no topic \`${topic}\``);
  const [ends, starts, committed] = [
    await offsetsAt(admin, { topic, partitions, timestamp: LATEST }),
    await offsetsAt(admin, { topic, partitions, timestamp: EARLIEST }),
    await committedOffsets(admin, { topic, partitions, group }),
  ];
  let lag = 0n;
  for (const partition of partitions) {
    const start = starts.get(partition) ?? 0n;
    const read = committed.get(partition) ?? -1n;
    // What was deleted before the group came to it is not waiting any more.
    const from = read < start ? start : read;
    const end = ends.get(partition) ?? from;
    if (end > from) lag += end - from;
  }
  return Number(lag);
}

interface Partitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

async function offsetsAt(
  admin: Admin,
  { topic, partitions, timestamp }: Partitions & { readonly timestamp: bigint },
): Promise<ReadonlyMap<number, bigint>> {
  const listed = await admin.listOffsets({
    topics: [
      {
        name: topic,
        partitions: partitions.map((partitionIndex) => ({ partitionIndex, timestamp })),
      },
    ],
  });
  return new Map(
    listed
      .flatMap((one) => one.partitions)
      .map(({ partitionIndex, offset }) => [partitionIndex, offset]),
  );
}

/** -1 for a partition of which the group has read nothing. */
async function committedOffsets(
  admin: Admin,
  { topic, partitions, group }: Partitions & { readonly group: string },
): Promise<ReadonlyMap<number, bigint>> {
  const groups = await admin.listConsumerGroupOffsets({
    groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes: [...partitions] }] }],
  });
  return new Map(
    groups
      .flatMap(({ topics }) => topics)
      .filter(({ name }) => name === topic)
      .flatMap((one) => one.partitions)
      .map(({ partitionIndex, committedOffset }) => [partitionIndex, committedOffset]),
  );
}
