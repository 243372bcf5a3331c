import { z } from 'zod';
import { kafkaBrokers } from '../kit/kafka-brokers.ts';
import { redisUrl } from '../kit/redis-url.ts';
import { finding, integer, nullAsAbsent, optional, text } from '../kit/schema.ts';
import {
  defineTrigger,
  type Look,
  type LookRequest,
  type TriggerContext,
  type TriggerEvent,
  type Watcher,
} from '../kit/trigger.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { pollInterval } from './poll-interval.ts';
import { kafkaLag } from './queues/kafka-queue.ts';
import { redisDepth } from './queues/redis-queue.ts';
import { percentDecoded } from '../lib/text/percent-decoded.ts';

const queue = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.enum(['redis', 'queue_a']).meta({ description: 'A list or stream of Redis.' }),
      url: redisUrl(),
      key: text().meta({ description: 'Key of the list or stream.' }),
      kind: nullAsAbsent(z.enum(['list', 'stream']).default('list')).meta({
        description: 'What is stored under the key.',
      }),
    }),
    z.strictObject({
      type: z
        .enum(['kafka', 'queue_b'])
        .meta({ description: 'What a group of Kafka has yet to read.' }),
      brokers: kafkaBrokers(),
      topic: text().meta({ description: 'Topic whose records are counted.' }),
      group: text().meta({ description: 'Consumer group that reads them.' }),
    }),
  ]);

const fields = () =>
  z
    .strictObject({
      queue: queue().meta({ description: 'What is counted.' }),
      threshold: nullAsAbsent(integer({ min: 1 }).default(1)).meta({
        description:
          'Depth from which on a run starts; the next one only after the queue was below it again.',
      }),
      rearm_below: optional(integer({ min: 1 })).meta({
        description:
          'The queue must have been below this depth before the next run; `threshold` when absent.',
      }),
      cooldown_secs: nullAsAbsent(integer({ min: 0 }).default(0)).meta({
        description: 'Least time from one run to the next, in seconds; 0 for none.',
      }),
      poll_interval_secs: pollInterval(),
    })
    .superRefine(({ threshold, rearm_below: rearm }, ctx) => {
      if (rearm === undefined || rearm <= threshold) return;
      const message = `\`rearm_below\` must not be more than the threshold, ${threshold}`;
      ctx.addIssue(finding('invalid_value', message, { path: ['rearm_below'] }));
    });
export type QueueDepth = z.output<ReturnType<typeof fields>>;
type Config = QueueDepth;
type Queue = Config['queue'];

export const queueDepth = defineTrigger<Config>({
  type: 'queue_depth',
  description: 'A queue that has become long.',
  fields,
  examples: [
    { queue: { type: 'redis', url: 'redis://localhost', key: 'orders' }, threshold: 100 },
    {
      queue: { type: 'kafka', brokers: 'localhost:9092', topic: 'orders', group: 'loader' },
      threshold: 1000,
      rearm_below: 100,
      cooldown_secs: 600,
    },
  ],
  tokens: ({ queue: counted, threshold }) => [
    { name: 'queue', example: nameOf(counted) },
    { name: 'depth', example: String(threshold) },
  ],
  starts: ({ queue: counted, threshold, poll_interval_secs: every }) =>
    `${threshold} or more in ${nameOf(counted)}, counted every ${every} s`,
  secrets: ({ queue: counted }) => ('url' in counted ? passwordsIn(counted.url) : []),
  events: {
    by: 'watching',
    intervalSecs: (config) => config.poll_interval_secs,
    open: async (config, context) =>
      watchDepth(config, context, (signal) => depthOf(config.queue, signal)),
  },
});

export function watchDepth(
  config: QueueDepth,
  context: TriggerContext,
  count: (signal: AbortSignal) => Promise<number>,
): Watcher {
  return {
    look: async (request) =>
      judge(await count(request.signal), readMemory(request, config), { config, context }),
    close: () => Promise.resolve(),
  };
}

function depthOf(counted: Queue, signal: AbortSignal): Promise<number> {
  return 'url' in counted ? redisDepth(counted, signal) : kafkaLag(counted, signal);
}

interface Memory {
  /** Which queue it is about. */
  readonly of: string;
  /** The queue was short since the last run. */
  readonly armed: boolean;
  /** How many runs there have been: the number in the key of the next one never comes again. */
  readonly edge: number;
  /** When the last one started, in milliseconds. */
  readonly firedAt: number | null;
}

function readMemory({ memory }: LookRequest, { queue: counted }: Config): Memory {
  const of = identityOf(counted);
  const before: JsonObject = isObject(memory ?? null) ? (memory as JsonObject) : {};
  const isSame = before['of'] === of;
  return {
    of,
    armed: isSame ? before['armed'] !== false : true,
    edge: numberOr(before['edge'], 0),
    firedAt: isSame ? numberOr(before['fired_at'], null) : null,
  };
}

function numberOr<T>(value: JsonValue | undefined, otherwise: T): number | T {
  return typeof value === 'number' ? value : otherwise;
}

function judge(
  depth: number,
  before: Memory,
  { config, context }: { readonly config: Config; readonly context: TriggerContext },
): Look {
  const { threshold, rearm_below: rearm = threshold, cooldown_secs: cooldown } = config;
  const now = context.clock.now().getTime();
  const armed = before.armed || depth < rearm;
  const isCool = before.firedAt === null || now - before.firedAt >= cooldown * 1000;
  const fires = armed && isCool && depth >= threshold;
  const edge = before.edge + 1;
  return {
    events: fires ? [eventOf(depth, `trig:${context.name}:edge:${edge}`, config.queue)] : [],
    memoryAfter: (taken) =>
      taken === 0
        ? { of: before.of, armed, edge: before.edge, fired_at: before.firedAt }
        : { of: before.of, armed: false, edge, fired_at: now },
  };
}

function eventOf(depth: number, key: string, counted: Queue): TriggerEvent {
  const values: Readonly<Record<string, string>> = {
    queue: nameOf(counted),
    depth: String(depth),
  };
  return { key, labels: values, value: (token) => values[token] };
}

function passwordsIn(url: string): readonly string[] {
  const { password } = new URL(url);
  return password === '' ? [] : [url, password, percentDecoded(password)];
}

function nameOf(counted: Queue): string {
  return 'key' in counted ? counted.key : counted.topic;
}

/** Without the address: the same queue may be reached by another one, and it may hold a password. */
function identityOf(counted: Queue): string {
  return 'key' in counted
    ? `redis ${counted.kind} ${counted.key}`
    : `kafka ${counted.topic} ${counted.group}`;
}
