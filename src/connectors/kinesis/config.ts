import { z } from 'zod';
import {
  batchSize,
  boolean,
  finding,
  integer,
  nullAsAbsent,
  number,
  text,
} from '../../kit/schema.ts';
import { valueFormat } from '../_brokers/encode.ts';
import { checkTermination, idleTermination } from '../_brokers/end.ts';
import { bareKey, fieldKey, keyField, keyOrNone, pathKey } from '../_brokers/record-keys.ts';
import { retryFields } from '../_http/batches.ts';
import { awsFields } from '../_aws/place.ts';
import { endpointUrl, scalarText, tagged } from '../_http/fields.ts';

const place = () => ({
  stream_name: text()
    .regex(/^[\w.${}-]{1,128}$/, 'is no name of a stream')
    .meta({ description: 'Name of the stream.' }),
  ...awsFields(
    'Region of the stream; that of the environment when absent.',
    endpointUrl('Address of a service that speaks the same protocol.', 'http://localhost:4567'),
  ),
});

const dataFormat = () =>
  valueFormat('What the data of a record is: JSON, text, or bytes (base64 in records).');

const STARTS = [
  'trim_horizon',
  'latest',
  'at_timestamp',
  'at_sequence_number',
  'after_sequence_number',
] as const;

const sequenceStart = <const T extends string>(type: T, description: string) =>
  z.strictObject({
    type: z.literal(type).meta({ description }),
    sequence: scalarText().meta({ description: 'Sequence number of a record.' }),
  });

const startPosition = () =>
  z.preprocess(
    (value) => (value === undefined || value === null ? value : tagged(STARTS)(value)),
    nullAsAbsent(
      z
        .discriminatedUnion('type', [
          bareKey('trim_horizon', 'Everything that the stream still has.'),
          bareKey('latest', 'What comes from now on.'),
          z.strictObject({
            type: z.literal('at_timestamp').meta({ description: 'What came since a time.' }),
            timestamp_secs: number({ min: 0 }).meta({
              description: 'The time in seconds since 1970.',
            }),
          }),
          sequenceStart('at_sequence_number', 'From this record of a shard on.'),
          sequenceStart('after_sequence_number', 'What is behind this record of a shard.'),
        ])
        .default({ type: 'trim_horizon' }),
    ),
  );

const sourceFields = z.lazy(() =>
  z
    .strictObject({
      ...place(),
      start_position: startPosition().meta({
        description: 'Where the first read begins; later ones go on behind the last record.',
      }),
      shard_ids: nullAsAbsent(z.array(text()).default([])).meta({
        description: 'Only these shards; all, and those that come, when there are none.',
      }),
      include_closed: nullAsAbsent(boolean().default(false)).meta({
        description:
          'Whether the first read takes shards to which nothing is added any more, because the stream was split or merged.',
      }),
      poll_interval_ms: nullAsAbsent(integer({ min: 200, max: 3_600_000 }).default(1000)).meta({
        description: 'Milliseconds between two requests for a shard that has no more.',
      }),
      records_per_request: nullAsAbsent(integer({ min: 1, max: 10_000 }).default(500)).meta({
        description: 'Records of a request at most.',
      }),
      shard_concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(4)).meta({
        description: 'Shards that are asked at the same time.',
      }),
      ...idleTermination(
        'Records after which the run ends.',
        'Seconds without a record after which the run ends; a shard that says that it has more is waited for.',
      ),
      value_format: dataFormat(),
      batch_size: batchSize(),
    })
    .superRefine((config, ctx) => {
      checkTermination(config, ctx);
      const isOfShard = config.start_position.type.endsWith('sequence_number');
      if (isOfShard && config.shard_ids.length > 1)
        ctx.addIssue(
          finding('invalid_value', 'a sequence number belongs to one shard', {
            path: ['shard_ids'],
            hint: 'name that shard alone, e.g. `shard_ids: [shardId-000000000000]`',
          }),
        );
    }),
);
export const kinesisSourceConfig = sourceFields;
export type KinesisSourceConfig = z.output<typeof sourceFields>;

const partitionKey = () =>
  keyField(
    ['random', 'field', 'jsonpath', 'hash', 'static'],
    nullAsAbsent(
      z
        .discriminatedUnion('type', [
          bareKey('random', 'Another one for each record, which spreads them evenly.'),
          fieldKey('The value of a field.'),
          pathKey('jsonpath', 'A value inside the record.'),
          pathKey('hash', 'The MD5 of a value inside the record.'),
          z.strictObject({
            type: z.literal('static').meta({ description: 'The same for all records.' }),
            value: text().meta({ description: 'The key.' }),
          }),
        ])
        .default({ type: 'random' }),
    ),
  );

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...place(),
    partition_key: partitionKey().meta({
      description:
        'Which key a record has: records with the same key come to the same shard, in their order.',
    }),
    explicit_hash_key: keyOrNone('The partition key decides.').meta({
      description:
        'Where a record has the number that decides on its shard, in place of the partition key.',
    }),
    value_format: dataFormat(),
    batch_size: nullAsAbsent(integer({ min: 1, max: 500 }).default(500)).meta({
      description: 'Records of a request at most.',
    }),
    max_record_size_bytes: nullAsAbsent(
      integer({ min: 1, max: 10_485_760 }).default(1_048_576),
    ).meta({ description: 'Bytes of a record with its key at most; larger ones are refused.' }),
    max_request_bytes: nullAsAbsent(integer({ min: 1, max: 10_485_760 }).default(5_242_880)).meta({
      description: 'Bytes of a request at most.',
    }),
    concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(4)).meta({
      description:
        'Requests at the same time; 1 keeps the order of records with the same key, of which a request then has only one.',
    }),
    ...retryFields(),
  }),
);
export const kinesisSinkConfig = sinkFields;
export type KinesisSinkConfig = z.output<typeof sinkFields>;
