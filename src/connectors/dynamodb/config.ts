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
import { awsFields } from '../_aws/place.ts';
import { checkTermination, idleTermination } from '../_brokers/end.ts';
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

const streamFields = () => ({
  stream_arn: optional(text()).meta({
    description: 'Stream whose changes are read; the one that the table has now when absent.',
    examples: [
      'arn:aws:dynamodb:eu-north-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000',
    ],
  }),
  start_position: nullAsAbsent(z.enum(['trim_horizon', 'latest']).default('trim_horizon')).meta({
    description:
      'Where a read without a bookmark begins: with the oldest change that is kept, or with what changes from then on.',
  }),
  on_gap: nullAsAbsent(z.enum(['fail', 'resnapshot']).default('fail')).meta({
    description:
      'What a run does when changes were removed before they were read (they are kept for 24 hours): fail, or read the whole table and go on from there.',
  }),
  poll_interval_ms: nullAsAbsent(integer({ min: 200, max: 3_600_000 }).default(1000)).meta({
    description: 'Milliseconds between two requests for a shard that has no more.',
  }),
  records_per_request: nullAsAbsent(integer({ min: 1, max: 1000 }).default(1000)).meta({
    description: 'Changes of a request at most.',
  }),
  shard_concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(4)).meta({
    description: 'Shards that are asked at the same time.',
  }),
  ...idleTermination(
    'Changes after which the run ends; items of a table that is read again do not count.',
    'Seconds without a change after which the run ends.',
  ),
});

const sourceFields = z.lazy(() =>
  z.strictObject({
    ...place(),
    mode: nullAsAbsent(z.enum(['scan', 'query', 'streams']).default('scan')).meta({
      description:
        'Whether all items are read (`scan`), those of one partition (`query`), or the changes of the table (`streams`).',
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
    ...streamFields(),
    retry: retry(),
    batch_size: batchSize(),
  }),
);

/** Of which items, and which of their fields: a stream has the changes of all, whole. */
const ITEM_FIELDS = [
  'index_name',
  'filter_expression',
  'projection',
  'expression_attribute_names',
  'expression_attribute_values',
  'page_limit',
] as const;
const STREAM_FIELDS = ['stream_arn', 'max_messages', 'idle_termination_secs'] as const;

export const dynamodbSourceConfig = z.lazy(() =>
  sourceFields.superRefine((config, ctx) => {
    const { mode, key_condition_expression: key, segments } = config;
    if (mode === 'query' && key === undefined)
      ctx.addIssue(
        finding('missing_key', 'a query needs `key_condition_expression`', {
          path: ['key_condition_expression'],
          hint: 'e.g. `customer = :c`, with `:c` in `expression_attribute_values`',
        }),
      );
    if (mode !== 'query' && key !== undefined)
      ctx.addIssue(
        finding('invalid_value', `with \`mode: ${mode}\` there is no key to look for`, {
          path: ['key_condition_expression'],
          hint: 'set `mode: query`, or use `filter_expression`',
        }),
      );
    if (mode === 'query' && segments > 1)
      ctx.addIssue(
        finding('invalid_value', 'only a scan is read in segments', { path: ['segments'] }),
      );
    if (mode === 'streams') checkTermination(config, ctx);
    const others = mode === 'streams' ? ITEM_FIELDS : STREAM_FIELDS;
    for (const name of others.filter((one) => config[one] !== undefined))
      ctx.addIssue(
        finding('invalid_value', `\`${name}\` says nothing with \`mode: ${mode}\``, {
          path: [name],
          hint:
            mode === 'streams'
              ? 'remove it; a `filter` or `select` of `transforms` does the same for changes'
              : 'remove it, or set `mode: streams`',
        }),
      );
  }),
);
export type DynamodbSourceConfig = z.output<typeof sourceFields>;

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
