/** What is there, asked of the brokers without reading or writing a message. */
import type { Admin } from '@platformatic/kafka';
import type { PartContext, SourceContext } from '../../../kit/context.ts';
import type { ProbeFinding } from '../../../kit/probe.ts';
import type { Discovered } from '../../../kit/source.ts';
import { AppError } from '../../../lib/errors.ts';
import { kafkaError, kafkaLibrary } from '../../../lib/kafka/kafka.ts';
import { untilAborted } from '../../../lib/until-aborted.ts';
import { readAgain } from '../../_brokers/read-again.ts';
import type { KafkaSinkConfig, KafkaSourceConfig } from '../config.ts';
import { partitionsOf } from '../read/start.ts';
import { clientOptions, sinkSettings, sourceSettings } from './settings.ts';

type Config = KafkaSourceConfig | KafkaSinkConfig;

const PROBE_MS = 8000;
const ADVICE = 'check `brokers` and `auth`';
const EARLIEST = -2n;
const LATEST = -1n;

/** `metadata`: whether the brokers answer, and whether the topics are there. */
export async function probeKafka(config: Config, context: PartContext): Promise<ProbeFinding[]> {
  try {
    await withAdmin(config, context, async (admin) => admin.metadata({ topics: topicsOf(config) }));
    return [{ name: 'metadata', status: 'pass' }];
  } catch (error) {
    context.signal.throwIfAborted();
    const { message, hint = ADVICE } = kafkaError(error, 'the brokers cannot be asked');
    return [{ name: 'metadata', status: 'fail', reason: message, hint }];
  }
}

function topicsOf(config: Config): string[] {
  if ('topics' in config) return [...config.topics];
  return config.topic.type === 'fixed' ? [config.topic.name] : [];
}

async function withAdmin<T>(
  config: Config,
  context: PartContext,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const settings = 'topics' in config ? sourceSettings(config) : sinkSettings(config);
  const limited = { ...settings, createsTopics: false, retries: 0, requestMs: PROBE_MS };
  const options = await clientOptions(limited, context);
  const { Admin: Client } = await kafkaLibrary();
  const admin = new Client({
    ...options,
    connectTimeout: Math.min(options.connectTimeout, PROBE_MS),
  });
  try {
    return await untilAborted(work(admin), context.signal);
  } catch (error) {
    throw error instanceof AppError ? error : kafkaError(error, 'the brokers cannot be asked');
  } finally {
    void admin.close().catch(() => {});
  }
}

/** How many members of a group can have something to read. */
export async function countPartitions(
  config: KafkaSourceConfig,
  context: SourceContext,
): Promise<number> {
  const again = readAgain(context, { forMs: config.session_timeout * 1000 });
  return again(() =>
    withAdmin(config, context, async (admin) => (await partitionsOf(admin, config.topics)).length),
  );
}

/** The topics that are not the brokers' own, each with the number of its messages. */
export async function discoverTopics(
  config: KafkaSourceConfig,
  context: PartContext,
): Promise<Discovered[]> {
  return withAdmin(config, context, async (admin) => {
    const topics = (await admin.listTopics({})).filter((name) => !name.startsWith('__')).sort();
    if (topics.length === 0) return [];
    const [starts, ends] = [
      await sumsAt(admin, topics, EARLIEST),
      await sumsAt(admin, topics, LATEST),
    ];
    return topics.map((name) => ({
      name,
      kind: 'topic',
      estimated_rows: (ends.get(name) ?? 0) - (starts.get(name) ?? 0),
      config_patch: { topics: [name] },
    }));
  });
}

async function sumsAt(
  admin: Admin,
  topics: readonly string[],
  timestamp: bigint,
): Promise<ReadonlyMap<string, number>> {
  const metadata = await admin.metadata({ topics: [...topics] });
  const listed = await admin.listOffsets({
    topics: topics.map((name) => ({
      name,
      partitions: Array.from(
        { length: metadata.topics.get(name)?.partitionsCount ?? 0 },
        (_, partitionIndex) => ({ partitionIndex, timestamp }),
      ),
    })),
  });
  return new Map(
    listed.map(({ name, partitions }) => [
      name,
      partitions.reduce((sum, { offset }) => sum + Number(offset), 0),
    ]),
  );
}
