/** Moves out of and into topics of Kafka, beside the performance tests that come with it. */
import { execFile, spawn } from 'node:child_process';
import { createReadStream, openSync, closeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Admin } from '@platformatic/kafka';
import { kafka } from '../../test/servers/kafka.ts';
import { KAFKA_TOOLS_FOLDER, startOf, type TestServer } from '../../test/servers/test-servers.ts';
import { PERSON_FIELDS, personAt } from '../data.ts';
import { expectedDigest, type Digest } from '../digest.ts';
import { headgateRun, pipelineDocument, type Bench, type Move } from '../move.ts';
import { verifyLines } from './files.ts';
import { peopleLines } from './json-lines.ts';

const PARTITIONS = 3;
const TARGET = 0.5;
const TRIES = 100;
const TRY_MS = 100;
/** Records of a page. */
const BATCH = 10_000;

const run = promisify(execFile);
const filled = new Set<string>();
let broker: Promise<TestServer> | undefined;

async function brokerOf(bench: Bench): Promise<string> {
  broker ??= startOf(kafka).then((server) => {
    bench.atEnd(() => server.stop());
    return server;
  });
  return (await broker).address;
}

/** A source that reads a topic with so many rows, which are JSON. */
export async function sourceOfPeople(bench: Bench, rows: number): Promise<string> {
  const address = await brokerOf(bench);
  const topic = `people-${rows}`;
  if (!filled.has(topic)) {
    await emptyTopic(address, topic);
    await fill(address, topic, peopleLines(bench.folder, rows));
    filled.add(topic);
  }
  return `{ type: kafka, config: { brokers: '${address}', topics: [${topic}], group_id: bench-${rows}, auto_offset_reset: earliest, max_messages: ${rows}, idle_timeout: 30, batch_size: ${BATCH} } }`;
}

const toJsonl: Move = {
  kind: 'processes',
  name: 'kafka-jsonl',
  title: `Kafka → JSON Lines, ${PARTITIONS} partitions`,
  async contest(bench) {
    const source = await sourceOfPeople(bench, bench.rows);
    const address = await brokerOf(bench);
    const output = join(bench.folder, 'kafka-jsonl.jsonl');
    const sink = `{ type: jsonl, config: { path: ${output} } }`;
    const expected = expectedPeople(bench.rows);
    return {
      rows: bench.rows,
      subject: {
        name: 'headgate',
        command: headgateRun(
          bench.folder,
          'kafka-jsonl',
          pipelineDocument('kafka-jsonl', { source, sink }),
        ),
        prepare: () => rm(output, { force: true }),
        verify: () => verifyLines(output, PERSON_FIELDS, expected, 'value'),
        verified: 'record count and hash of every value against the generator',
      },
      others: [
        {
          name: '`kafka-consumer-perf-test`',
          command: {
            argv: java(
              'ConsumerPerformance',
              '--bootstrap-server',
              address,
              '--topic',
              `people-${bench.rows}`,
              '--messages',
              String(bench.rows),
            ),
          },
          verify: async () => {},
          verified: 'nothing: its messages are thrown away',
          role: 'baseline',
          target: TARGET,
        },
      ],
    };
  },
};

const fromJsonl: Move = {
  kind: 'processes',
  name: 'jsonl-kafka',
  title: `JSON Lines → Kafka, ${PARTITIONS} partitions, acknowledged by all replicas`,
  async contest(bench) {
    const address = await brokerOf(bench);
    const input = peopleLines(bench.folder, bench.rows);
    const expected = expectedPeople(bench.rows);
    const [ours, theirs] = ['people-moved', 'people-test'];
    const source = `{ type: jsonl, config: { path: ${input}, batch_size: ${BATCH} } }`;
    const sink = `{ type: kafka, config: { brokers: '${address}', topic: ${ours}, max_in_flight: ${BATCH} } }`;
    return {
      rows: bench.rows,
      subject: {
        name: 'headgate',
        command: headgateRun(
          bench.folder,
          'jsonl-kafka',
          pipelineDocument('jsonl-kafka', { source, sink }),
        ),
        prepare: () => emptyTopic(address, ours),
        verify: () => verifyTopic(bench, { address, topic: ours, expected }),
        verified: 'record count and hash of every value, read back by the console consumer',
      },
      others: [
        {
          name: '`kafka-producer-perf-test`',
          command: {
            argv: java(
              'ProducerPerformance',
              '--topic',
              theirs,
              '--num-records',
              String(bench.rows),
              '--throughput',
              '-1',
              '--payload-file',
              input,
              '--producer-props',
              `bootstrap.servers=${address}`,
              'acks=all',
            ),
          },
          prepare: () => emptyTopic(address, theirs),
          verify: () => requireCount(address, theirs, bench.rows),
          verified: 'record count (it sends lines of the same file in an order of its own)',
          role: 'baseline',
          target: TARGET,
        },
      ],
    };
  },
};

export const kafkaMoves: readonly Move[] = [toJsonl, fromJsonl];

function java(tool: string, ...args: readonly string[]): string[] {
  const paths = join(KAFKA_TOOLS_FOLDER, '*');
  return ['java', '-cp', paths, `org.apache.kafka.tools.${tool}`, ...args];
}

function expectedPeople(rows: number): Digest {
  return expectedDigest(rows, (index) => {
    const person = personAt(index);
    return PERSON_FIELDS.map((field) => person[field]);
  });
}

/** Makes it anew; one that is removed is there for a while. */
async function emptyTopic(address: string, topic: string): Promise<void> {
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [address], retries: 0 });
  try {
    await admin.deleteTopics({ topics: [topic] }).catch(() => {});
    for (let attempt = 1; ; attempt += 1) {
      try {
        await admin.createTopics({ topics: [topic], partitions: PARTITIONS, replicas: 1 });
        return;
      } catch (error) {
        if (attempt === TRIES) throw error;
        await pause(TRY_MS);
      }
    }
  } finally {
    await admin.close();
  }
}

async function fill(address: string, topic: string, path: string): Promise<void> {
  const options = ['--bootstrap-server', address, '--topic', topic, '--batch-size', '262144'];
  const [file = '', ...args] = java('ConsoleProducer', ...options);
  const producer = spawn(file, args, { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise((done) => producer.once('exit', done));
  await pipeline(createReadStream(path), producer.stdin);
  if ((await ended) !== 0) throw new Error(`${path} was not written into the topic ${topic}`);
}

async function requireCount(address: string, topic: string, rows: number): Promise<void> {
  const options = ['--bootstrap-server', address, '--topic', topic];
  const [file = '', ...args] = java('GetOffsetShell', ...options);
  const { stdout } = await run(file, args);
  const found = stdout
    .split('\n')
    .map((line) => /:(\d+)$/.exec(line)?.[1])
    .reduce((sum, count) => sum + Number(count ?? 0), 0);
  if (found !== rows) throw new Error(`the topic ${topic} has ${found} messages, not ${rows}`);
}

interface Expected {
  readonly address: string;
  readonly topic: string;
  readonly expected: Digest;
}

async function verifyTopic(bench: Bench, { address, topic, expected }: Expected): Promise<void> {
  await requireCount(address, topic, expected.records);
  const path = join(bench.folder, `${topic}-read.jsonl`);
  const [file = '', ...args] = java(
    'consumer.ConsoleConsumer',
    '--bootstrap-server',
    address,
    '--topic',
    topic,
    '--from-beginning',
    '--max-messages',
    String(expected.records),
    '--timeout-ms',
    '20000',
  );
  const output = openSync(path, 'w');
  try {
    const consumer = spawn(file, args, { stdio: ['ignore', output, 'ignore'] });
    await new Promise((done) => consumer.once('exit', done));
    await verifyLines(path, PERSON_FIELDS, expected);
  } finally {
    closeSync(output);
    await rm(path, { force: true });
  }
}
