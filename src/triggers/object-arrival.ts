import { z } from 'zod';
import { nullAsAbsent, optional, text } from '../kit/schema.ts';
import { defineTrigger } from '../kit/trigger.ts';
import { pollInterval } from './poll-interval.ts';

const bucket = () => text().meta({ description: 'Name of the bucket.' });
const prefix = () =>
  nullAsAbsent(z.string().default('')).meta({
    description: 'What the keys of its objects start with; every object when absent.',
  });

const store = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.enum(['s3', 'object_store_a']).meta({ description: 'Amazon S3, or compatible.' }),
      bucket: bucket(),
      prefix: prefix(),
      region: optional(text()).meta({ description: 'Region of the bucket.' }),
      endpoint: optional(text()).meta({ description: 'Address of a compatible store.' }),
    }),
    z.strictObject({
      type: z.enum(['gcs', 'object_store_b']).meta({ description: 'Google Cloud Storage.' }),
      bucket: bucket(),
      prefix: prefix(),
    }),
  ]);

const fields = () =>
  z.strictObject({
    store: store().meta({ description: 'Where objects arrive.' }),
    poll_interval_secs: pollInterval(),
    mode: nullAsAbsent(z.enum(['per_object', 'batch']).default('per_object')).meta({
      description: 'Whether each new object starts a run, or all that were found together.',
    }),
    start_at: nullAsAbsent(z.enum(['now', 'beginning']).default('now')).meta({
      description: 'Whether objects count that were there before the server started.',
    }),
  });
type Config = z.output<ReturnType<typeof fields>>;

export const objectArrival = defineTrigger<Config>({
  type: 'object_arrival',
  description: 'New objects in a bucket.',
  fields,
  examples: [
    { store: { type: 's3', bucket: 'landing', prefix: 'orders/', region: 'eu-north-1' } },
    { store: { type: 'gcs', bucket: 'landing' }, mode: 'batch', start_at: 'beginning' },
  ],
  tokens: ({ mode, store: { bucket: name } }) => {
    const ofBucket = { name: 'bucket', example: name, inRunName: true } as const;
    if (mode === 'batch') return [ofBucket, { name: 'object_count', example: '1' }];
    return [
      ofBucket,
      { name: 'object_key', example: 'key', inRunName: true },
      { name: 'size', example: '1' },
      { name: 'last_modified', example: '2026-01-31T08:00:00Z' },
    ];
  },
  starts: ({ mode, store: { bucket: name, prefix: start }, poll_interval_secs: every }) =>
    `${mode === 'batch' ? 'new objects' : 'each new object'} in ${name}/${start}, looked for every ${every} s`,
  secrets: () => [],
});
