import { z } from 'zod';
import { integer, nullAsAbsent, text } from '../kit/schema.ts';
import { defineTrigger } from '../kit/trigger.ts';
import { pollInterval } from './poll-interval.ts';

const queue = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.enum(['redis', 'queue_a']).meta({ description: 'A list or stream of Redis.' }),
      url: text().meta({ description: 'Address of the server.', secret: true }),
      key: text().meta({ description: 'Key of the list or stream.' }),
      kind: nullAsAbsent(z.enum(['list', 'stream']).default('list')).meta({
        description: 'What is stored under the key.',
      }),
    }),
    z.strictObject({
      type: z
        .enum(['kafka', 'queue_b'])
        .meta({ description: 'What a group of Kafka has yet to read.' }),
      brokers: text().meta({ description: 'Addresses of brokers, separated by commas.' }),
      topic: text().meta({ description: 'Topic whose records are counted.' }),
      group: text().meta({ description: 'Consumer group that reads them.' }),
    }),
  ]);

const fields = () =>
  z.strictObject({
    queue: queue().meta({ description: 'What is counted.' }),
    threshold: nullAsAbsent(integer({ min: 1 }).default(1)).meta({
      description:
        'Depth from which on a run starts; the next one only after the queue was below it again.',
    }),
    poll_interval_secs: pollInterval(),
  });
type Config = z.output<ReturnType<typeof fields>>;

export const queueDepth = defineTrigger<Config>({
  type: 'queue_depth',
  description: 'A queue that has become long.',
  fields,
  examples: [
    { queue: { type: 'redis', url: 'redis://localhost', key: 'orders' }, threshold: 100 },
    { queue: { type: 'kafka', brokers: 'localhost:9092', topic: 'orders', group: 'loader' } },
  ],
  tokens: ({ queue: counted, threshold }) => [
    { name: 'queue', example: nameOf(counted) },
    { name: 'depth', example: String(threshold) },
  ],
  starts: ({ queue: counted, threshold, poll_interval_secs: every }) =>
    `${threshold} or more in ${nameOf(counted)}, counted every ${every} s`,
  secrets: ({ queue: counted }) => ('url' in counted ? [counted.url] : []),
});

function nameOf(counted: Config['queue']): string {
  return 'key' in counted ? counted.key : counted.topic;
}
