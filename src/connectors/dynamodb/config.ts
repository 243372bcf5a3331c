import { z } from 'zod';
import {
  batchSize,
  boolean,
  finding,
  integer,
  json,
  nullAsAbsent,
  optional,
  text,
} from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import { isObject } from '../../lib/text/json.ts';
import { awsFields } from '../_aws/place.ts';
import { endpointUrl } from '../_http/fields.ts';

const place = () => ({
  table_name: text()
    .regex(/^[\w.${}:/-]{3,1024}$/, 'is no name of a table')
    .meta({ description: 'Name of the table.' }),
  ...awsFields(
    'Region of the table; that of the environment when absent.',
    endpointUrl('Address of a service that speaks the same protocol.', 'http://localhost:8000'),
  ),
});

const names = () =>
  optional(z.record(z.string().regex(/^#\w+$/, 'must begin with `#`'), text())).meta({
    description: 'Names that stand for fields in expressions.',
    examples: [{ '#s': 'status' }],
  });

const values = () =>
  optional(z.record(z.string().regex(/^:\w+$/, 'must begin with `:`'), json())).meta({
    description:
      'Values that expressions name, as JSON, or with their type as the service writes them (`{N: "1"}`).',
    examples: [{ ':s': 'paid' }],
  });

const retry = () =>
  optional(
    z.strictObject({
      max_attempts: optional(integer({ min: 1, max: 100 })).meta({
        description: 'Attempts for a request, or for the records of one that were not taken.',
      }),
      initial_backoff_ms: optional(integer({ min: 0, max: 3_600_000 })).meta({
        description: 'Milliseconds before the second attempt, doubled before each further one.',
      }),
      max_backoff_ms: optional(integer({ min: 0, max: 3_600_000 })).meta({
        description: 'Milliseconds before an attempt at most.',
      }),
    }),
  ).meta({
    description:
      'Attempts and waits of this part: 8, 100 and 10000 where neither it nor `resilience.retry` says otherwise.',
  });

export type RetryBlock = z.output<ReturnType<typeof retry>>;

const sourceFields = z.lazy(() =>
  z.strictObject({
    ...place(),
    mode: nullAsAbsent(z.enum(['scan', 'query', 'streams']).default('scan')).meta({
      description:
        'Whether all items are read (`scan`), or those of one partition (`query`); `streams` is not read yet.',
    }),
    index_name: optional(text()).meta({ description: 'Index to read, in place of the table.' }),
    key_condition_expression: optional(text()).meta({
      description: 'Which partition a query reads, and which part of it.',
      examples: ['customer = :c AND placed_at > :t'],
    }),
    filter_expression: optional(text()).meta({
      description: 'Which of the items that were found are records.',
      examples: ['#s = :s'],
    }),
    projection: optional(z.union([text(), z.array(text()).min(1)])).meta({
      description: 'Fields that are read, as an expression or a list; all when absent.',
    }),
    expression_attribute_names: names(),
    expression_attribute_values: values(),
    consistent_read: nullAsAbsent(boolean().default(false)).meta({
      description: 'Whether a read sees every write that was answered before it.',
    }),
    scan_index_forward: nullAsAbsent(boolean().default(true)).meta({
      description: 'Whether a query gives the items in ascending order.',
    }),
    page_limit: optional(integer({ min: 1 })).meta({
      description: 'Items that the service looks at for a request at most.',
    }),
    segments: nullAsAbsent(integer({ min: 1, max: 1_000_000 }).default(1)).meta({
      description:
        'Parts in which a scan reads the table, several at the same time; the block `shard` divides them among invocations.',
    }),
    max_concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(8)).meta({
      description: 'Parts that are read at the same time.',
    }),
    retry: retry(),
    batch_size: batchSize(),
  }),
);

const STREAM_FIELDS = [
  'stream_arn',
  'start_position',
  'on_gap',
  'poll_interval_ms',
  'records_per_request',
  'shard_concurrency',
  'idle_termination_secs',
  'max_messages',
];

export const dynamodbSourceConfig = z.lazy(() =>
  z.preprocess(
    withoutStreamFields,
    sourceFields.superRefine((config, ctx) => {
      const { mode, key_condition_expression: key, segments } = config;
      if (mode === 'streams')
        ctx.addIssue(
          finding('invalid_value', 'the changes of a table cannot be read yet', {
            path: ['mode'],
            hint: 'read the table with `scan` or `query`, or send its changes to a `kinesis` stream',
          }),
        );
      if (mode === 'query' && key === undefined)
        ctx.addIssue(
          finding('missing_key', 'a query needs `key_condition_expression`', {
            path: ['key_condition_expression'],
            hint: 'e.g. `customer = :c`, with `:c` in `expression_attribute_values`',
          }),
        );
      if (mode === 'scan' && key !== undefined)
        ctx.addIssue(
          finding('invalid_value', 'a scan has no key to look for', {
            path: ['key_condition_expression'],
            hint: 'set `mode: query`, or use `filter_expression`',
          }),
        );
      if (mode === 'query' && segments > 1)
        ctx.addIssue(
          finding('invalid_value', 'only a scan is read in segments', { path: ['segments'] }),
        );
    }),
  ),
);
export type DynamodbSourceConfig = z.output<typeof sourceFields>;

/** Where the mode is refused, its fields are not told as mistakes too. */
function withoutStreamFields(value: unknown): unknown {
  if (!isObject(value) || value['mode'] !== 'streams') return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !STREAM_FIELDS.includes(name)),
  );
}

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...place(),
    ...writeFields(['append', 'upsert', 'delete']),
    batch_size: nullAsAbsent(integer({ min: 1, max: 25 }).default(25)).meta({
      description: 'Records of a request at most; with a condition each has one of its own.',
    }),
    concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(4)).meta({
      description: 'Requests at the same time.',
    }),
    condition_expression: optional(text()).meta({
      description: 'What must hold for the item that is there, so that a record is written.',
      examples: ['attribute_not_exists(id) OR version < :v'],
    }),
    expression_attribute_names: names(),
    expression_attribute_values: values(),
    on_condition_failure: nullAsAbsent(z.enum(['fail', 'skip']).default('fail')).meta({
      description:
        'What a record does for which the condition does not hold: be refused, or be left out.',
    }),
    retry: retry(),
  }),
);

export const dynamodbSinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    checkWriteFields(config, ctx);
    if (config.condition_expression !== undefined) return;
    for (const name of ['expression_attribute_names', 'expression_attribute_values'] as const)
      if (config[name] !== undefined)
        ctx.addIssue(
          finding('invalid_value', `\`${name}\` stands for nothing without a condition`, {
            path: [name],
            hint: 'add `condition_expression`, or remove it',
          }),
        );
  }),
);
export type DynamodbSinkConfig = z.output<typeof sinkFields>;
