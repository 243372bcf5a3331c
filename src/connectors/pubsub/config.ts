import { z } from 'zod';
import { batchSize, finding, integer, nullAsAbsent, optional, text } from '../../kit/schema.ts';
import { onDecodeError } from '../_brokers/decode.ts';
import { valueFormat } from '../_brokers/encode.ts';
import { checkTermination, idleTermination } from '../_brokers/end.ts';
import { keyOrNone } from '../_brokers/record-keys.ts';
import { googleAuth } from '../_google/account.ts';
import { checkPlace, emulatorHost, serviceEndpoint } from '../_google/place.ts';
import { isName, projectIn } from './names.ts';

const place = () => ({
  project_id: optional(text().regex(/^[\w.:${}-]+$/, 'is no id of a project')).meta({
    description:
      'Project of a name that does not tell its own; the one that the login belongs to when absent.',
    examples: ['my-project'],
  }),
  endpoint: serviceEndpoint('europe-west3-pubsub.googleapis.com'),
  emulator_host: emulatorHost('localhost:8085'),
  credentials: nullAsAbsent(
    googleAuth('Nobody: for an emulator, whose address is `emulator_host`.').default({
      type: 'application_default',
    }),
  ).meta({ description: 'Who asks.' }),
});

const name = (what: 'topic' | 'subscription', description: string) =>
  text()
    .superRefine((value, ctx) => {
      if (isName(value, what)) return;
      const hint = `write its name, or \`projects/PROJECT/${what}s/NAME\``;
      ctx.addIssue(finding('invalid_value', `this is no name of a ${what}`, { hint }));
    })
    .meta({ description, examples: ['orders', `projects/my-project/${what}s/orders`] });

interface Placed {
  readonly project_id?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly emulator_host?: string | undefined;
  readonly credentials: z.output<ReturnType<typeof googleAuth>>;
}

function checkPlaced(config: Placed, resource: string, ctx: z.RefinementCtx): void {
  checkPlace(config, { auth: config.credentials, field: 'credentials' }, ctx);
  const { project_id: project, emulator_host: emulator } = config;
  if (emulator === undefined || (project ?? projectIn(resource)) !== undefined) return;
  const hint = 'an emulator takes any, e.g. `project_id: test`';
  const message = 'no login tells the project of an emulator';
  ctx.addIssue(finding('missing_key', message, { path: ['project_id'], hint }));
}

/** Fields of a record besides its attributes. */
const RECORD_FIELDS = [
  'data',
  'message_id',
  'ordering_key',
  'publish_time_millis',
  'delivery_attempt',
];

const sourceFields = z.lazy(() =>
  z
    .strictObject({
      subscription: name('subscription', 'Subscription to read; it must exist.'),
      ...place(),
      value_format: valueFormat(
        'What the data of a message is: JSON, text, or bytes (base64 in records).',
      ),
      on_decode_error: onDecodeError(),
      attributes_key: nullAsAbsent(text().default('__attributes')).meta({
        description: 'Field of a record that holds the attributes of its message.',
      }),
      max_messages_per_pull: nullAsAbsent(integer({ min: 1, max: 1000 }).default(100)).meta({
        description: 'Messages of a request at most; long ones are asked for in smaller numbers.',
      }),
      ...idleTermination(
        'Messages after which the run ends.',
        'Seconds without a message after which the run ends.',
      ),
      batch_size: batchSize(),
    })
    .superRefine((config, ctx) => {
      checkPlaced(config, config.subscription, ctx);
      checkTermination(config, ctx);
      if (!RECORD_FIELDS.includes(config.attributes_key)) return;
      const hint = `choose another name than ${RECORD_FIELDS.join(', ')}`;
      const message = 'records have another field of this name';
      ctx.addIssue(finding('invalid_value', message, { path: ['attributes_key'], hint }));
    }),
);
export const pubsubSourceConfig = sourceFields;
export type PubsubSourceConfig = z.output<typeof sourceFields>;

const sinkFields = z.lazy(() =>
  z
    .strictObject({
      topic: name('topic', 'Topic to which messages are published; it must exist.'),
      ...place(),
      value_format: valueFormat(
        'How a record becomes the data of a message: as JSON, as text, or the bytes of which it is the base64.',
      ),
      ordering_key: keyOrNone('Messages have none, and no order.').meta({
        description:
          'Where a record has the key of its message: a subscription with ordering delivers messages with the same key in their order.',
      }),
      attributes_field: optional(text()).meta({
        description:
          'Field of a record with the attributes of its message, names and single values; it is not part of the data.',
      }),
      batch_size: nullAsAbsent(integer({ min: 1, max: 1000 }).default(100)).meta({
        description: 'Messages of a request at most.',
      }),
      concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(4)).meta({
        description:
          'Requests at the same time; those with messages of one ordering key are sent one by one.',
      }),
    })
    .superRefine((config, ctx) => {
      checkPlaced(config, config.topic, ctx);
      if (config.value_format !== 'bytes' || config.attributes_field === undefined) return;
      const message = 'with `value_format: bytes` a record is a text, which has no fields';
      const hint = 'leave it out, or choose another `value_format`';
      ctx.addIssue(finding('conflicting_keys', message, { path: ['attributes_field'], hint }));
    }),
);
export const pubsubSinkConfig = sinkFields;
export type PubsubSinkConfig = z.output<typeof sinkFields>;
