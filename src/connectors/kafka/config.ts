import { z } from 'zod';
import { kafkaBrokers } from '../../kit/kafka-brokers.ts';
import {
  batchSize,
  boolean,
  finding,
  integer,
  nullAsAbsent,
  number,
  optional,
  text,
} from '../../kit/schema.ts';
import { jsonPath } from '../_http/json-path.ts';
import { tagged } from '../_http/fields.ts';
import { extraClientConfig, kafkaAuth } from './client/config.ts';
import {
  isRegistered,
  payloadFormat,
  schemaRegistry,
  schemaText,
  withRegistryOfFormats,
} from './formats/config.ts';

const connection = () => ({
  brokers: kafkaBrokers(),
  auth: kafkaAuth(),
  schema_registry: schemaRegistry(),
  extra_client_config: extraClientConfig(),
});

export const kafkaSourceConfig = z.lazy(() =>
  z.preprocess(
    withRegistryOfFormats,
    z
      .strictObject({
        ...connection(),
        topics: z.array(text()).min(1).meta({ description: 'Topics to read.' }),
        group_id: text().meta({
          description:
            'Consumer group whose committed offsets are the start of partitions without a bookmark.',
        }),
        value_format: payloadFormat('the values').default({ type: 'json' }),
        key_format: optional(payloadFormat('the keys')).meta({
          description: 'Format of the keys; unset: text.',
        }),
        auto_offset_reset: nullAsAbsent(z.enum(['latest', 'earliest']).default('latest')).meta({
          description:
            'Where partitions begin that have neither a bookmark nor a committed offset: behind what is there, or at its beginning.',
        }),
        max_messages: optional(integer({ min: 1 })).meta({
          description: 'Messages after which the run ends.',
        }),
        idle_timeout: optional(number({ min: 0, max: 31_536_000 })).meta({
          description: 'Seconds without a message after which the run ends.',
        }),
        poll_timeout: nullAsAbsent(number({ min: 0.001, max: 300 }).default(1)).meta({
          description:
            'Seconds that a broker waits for messages before it answers that there are none.',
          advanced: true,
        }),
        session_timeout: nullAsAbsent(number({ min: 1, max: 3600 }).default(30)).meta({
          description:
            'Seconds without an answer after which a broker counts as lost, and for which a lost one is tried again.',
          advanced: true,
        }),
        on_decode_error: nullAsAbsent(z.enum(['fail', 'skip']).default('fail')).meta({
          description: 'What a message does that cannot be decoded: end the run, or be left out.',
        }),
        commit_offsets: nullAsAbsent(boolean().default(false)).meta({
          description:
            'Whether the position is also committed to the group once it is stored, for tools that watch the group; bookmarks go before it.',
        }),
        batch_size: batchSize(),
      })
      .superRefine((config, ctx) => {
        if (config.max_messages === undefined && config.idle_timeout === undefined)
          ctx.addIssue(
            finding(
              'missing_key',
              'the run would not end: `idle_timeout` or `max_messages` is needed',
              {
                path: ['idle_timeout'],
                hint: 'e.g. `idle_timeout: 30` ends it after 30 seconds without a message',
              },
            ),
          );
        checkRegistry(config, ctx);
      }),
  ),
);

export type KafkaSourceConfig = z.infer<typeof kafkaSourceConfig>;

const topic = () =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? { type: 'fixed', name: value } : asTopic(value)),
      z.discriminatedUnion('type', [
        z.strictObject({
          type: z.literal('fixed').meta({ description: 'One topic.' }),
          name: text().meta({ description: 'Name of the topic.' }),
        }),
        z.strictObject({
          type: z.literal('from_path').meta({ description: 'A topic for each record.' }),
          path: jsonPath().meta({ description: 'JSONPath of the name in the record.' }),
        }),
      ]),
    )
    .meta({
      description: 'Topic to write to: `{type: fixed, name}` or `{type: from_path, path}`.',
    });

const asTopic = tagged(['fixed', 'from_path']);

const flags = () => ({
  acks: nullAsAbsent(z.enum(['all', 'leader', 'none']).default('all')).meta({
    description: 'Which replicas must have a record before it counts as written.',
  }),
  idempotent: nullAsAbsent(boolean().default(true)).meta({
    description: 'Whether brokers leave out what the client repeats; needs `acks: all`.',
  }),
  compression: nullAsAbsent(z.enum(['none', 'gzip', 'snappy', 'lz4', 'zstd']).default('none')).meta(
    { description: 'Compression of what is sent.' },
  ),
});

const limits = () => ({
  linger: nullAsAbsent(number({ min: 0, max: 3600 }).default(0)).meta({
    description:
      'Seconds that records of small pages wait for others to be sent with; a flush sends them at once.',
    advanced: true,
  }),
  batch_size: batchSize().meta({
    description: 'Records that are sent together at most; 0: a page.',
  }),
  max_in_flight: nullAsAbsent(integer({ min: 1, max: 1_000_000 }).default(100)).meta({
    description:
      'Records that are sent and not confirmed at most; more of them are faster where brokers are far away.',
  }),
  message_timeout: nullAsAbsent(number({ min: 0.1, max: 3600 }).default(30)).meta({
    description: 'Seconds after which a record that is not confirmed fails.',
  }),
  queue_full_backoff: nullAsAbsent(number({ min: 0, max: 3600 }).default(0)).meta({
    description: 'Seconds before what a broker did not take is sent again; 0: a tenth of a second.',
    advanced: true,
  }),
  queue_full_max_retries: optional(integer({ min: 0, max: 1000 })).meta({
    description: 'How often it is sent again; unset: until `message_timeout`.',
    advanced: true,
  }),
});

const commits = () => ({
  transactional_id_prefix: nullAsAbsent(text().default('svc')).meta({
    description: 'Begins the id of the transactions of `delivery: exactly_once`; the row follows.',
  }),
  commit_token_topic: nullAsAbsent(text().default('__svc_commit_token')).meta({
    description: 'Compacted topic that holds the positions of `delivery: exactly_once`.',
  }),
  commit_token_topic_partitions: nullAsAbsent(integer({ min: 1, max: 10_000 }).default(1)).meta({
    description: 'Partitions of that topic, when it is made.',
    advanced: true,
  }),
  commit_token_topic_replication: nullAsAbsent(integer({ min: -1, max: 100 }).default(-1)).meta({
    description: 'Copies of that topic, when it is made; -1: as the brokers are set.',
    advanced: true,
  }),
});

export const kafkaSinkConfig = z.lazy(() =>
  z.preprocess(
    withRegistryOfFormats,
    z
      .strictObject({
        ...connection(),
        topic: topic(),
        value_format: payloadFormat('the values').default({ type: 'json' }),
        key_format: optional(payloadFormat('the keys')).meta({
          description: 'Format of the keys; unset: text.',
        }),
        value_schema: schemaText('the values'),
        key_schema: schemaText('the keys'),
        key_path: optional(jsonPath()).meta({
          description: 'JSONPath of the key in the record; unset: no key.',
        }),
        partition_path: optional(jsonPath()).meta({
          description: 'JSONPath of the number of the partition; unset: by the key, or in turn.',
        }),
        headers_path: optional(jsonPath()).meta({
          description: 'JSONPath of a mapping whose entries become headers; unset: none.',
        }),
        on_key_error: nullAsAbsent(z.enum(['fail', 'skip', 'round_robin']).default('fail')).meta({
          description:
            'What a record without a value at `key_path` does: fail the page, be left out, or be sent without a key.',
        }),
        ...flags(),
        ...limits(),
        ...commits(),
      })
      .superRefine((config, ctx) => {
        if (config.idempotent && config.acks !== 'all')
          ctx.addIssue(
            finding('invalid_value', '`acks` must be `all` where `idempotent` is true', {
              path: ['acks'],
              hint: 'set `idempotent: false`, or remove `acks`',
            }),
          );
        checkRegistry(config, ctx);
        for (const part of ['value', 'key'] as const) {
          const format = config[`${part}_format`];
          if (format === undefined || !isRegistered(format.type)) continue;
          if (config[`${part}_schema`] !== undefined) continue;
          const message = `\`${part}_format: ${format.type}\` needs \`${part}_schema\``;
          ctx.addIssue(finding('missing_key', message, { path: [`${part}_schema`] }));
        }
      }),
  ),
);

export type KafkaSinkConfig = z.infer<typeof kafkaSinkConfig>;

type Formats = Pick<KafkaSourceConfig, 'value_format' | 'key_format' | 'schema_registry'>;

function checkRegistry(
  { value_format: value, key_format: key, schema_registry: registry }: Formats,
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
): void {
  const format = [value, key].find((one) => one !== undefined && isRegistered(one.type));
  if (format === undefined || registry !== undefined) return;
  const message = `the format \`${format.type}\` needs \`schema_registry\``;
  const hint = 'e.g. `schema_registry: {url: "http://registry:8081"}`';
  ctx.addIssue(finding('missing_key', message, { path: ['schema_registry'], hint }));
}
