import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { scalarText } from '../_http/fields.ts';
import { versionFaults } from '../_lake/moment.ts';
import { placeOf, type TableConfig } from './place.ts';

const optionalText = (description: string) => optional(text()).meta({ description });
const secret = (description: string) => optional(text()).meta({ description, secret: true });

const login = <const T extends string, S extends z.ZodType>(type: T, who: string, config: S) =>
  z.strictObject({ type: z.literal(type).meta({ description: who }), config });

const aws = () =>
  z
    .strictObject({
      access_key_id: optionalText('Id of the key.'),
      secret_access_key: secret('Its secret.'),
      session_token: secret('The token of a temporary key.'),
      region: optionalText('Region of the bucket; that of the environment when absent.'),
      endpoint_url: optionalText('Address of a store that speaks the same protocol.'),
      allow_http: optional(boolean()).meta({ description: 'Whether it may be plain http.' }),
    })
    .meta({ description: 'What is known of the login; the client finds the rest.' });

const azure = () =>
  z
    .strictObject({
      account_name: optionalText('The storage account; that of `table_uri` when absent.'),
      access_key: secret('A key of the account.'),
      sas_token: secret('A shared access signature.'),
    })
    .superRefine(({ access_key: key, sas_token: token }, ctx) => {
      if (key === undefined || token === undefined) return;
      ctx.addIssue(
        finding('conflicting_keys', '`access_key` and `sas_token` exclude each other', {
          path: ['sas_token'],
          hint: 'remove one: the key reaches the whole account, a token what it was signed for',
        }),
      );
    })
    .meta({ description: 'What is known of the login; the machine has the rest.' });

const gcp = () =>
  z
    .strictObject({
      service_account_path: optionalText('File with the key of a service account.'),
      service_account_key: secret('The key itself, as JSON text.'),
    })
    .meta({ description: 'The key; the machine has one when both are absent.' });

const credentials = () =>
  z.preprocess(
    (value) => (typeof value === 'string' ? { type: value } : value),
    z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('default').meta({
          description: 'What the machine has: variables, profiles, its identity.',
        }),
      }),
      login('aws', 'A key of Amazon S3 or a compatible store.', aws()),
      login('azure', 'A key of an account of Azure Storage.', azure()),
      login('gcp', 'A service account of Google Cloud.', gcp()),
    ]),
  );

function tableFields() {
  return {
    table_uri: text().meta({
      description:
        'The folder of the table: a path, or an address that starts with `file://`, `s3://`, `gs://` or `abfss://`.',
      examples: ['lake/orders', 's3://lake/orders'],
    }),
    credentials: optional(credentials()).meta({
      description: 'Who asks for a table in a store; `default` when absent.',
    }),
    storage_options: optional(z.record(z.string(), scalarText())).meta({
      description:
        'Settings of the store by the names that other programs for Delta use; they win over `credentials`.',
      examples: [{ aws_region: 'eu-north-1' }],
      secret: true,
    }),
  };
}

function checkPlace(value: TableConfig, ctx: z.RefinementCtx): void {
  for (const { path, message, hint } of placeOf(value).faults)
    ctx.addIssue(finding('invalid_value', message, { path: [...path], hint }));
}

export const deltaSourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...tableFields(),
      version: optional(integer({ min: 0 })).meta({
        description: 'The version of the table to read; the latest one when absent.',
      }),
      timestamp: optional(text()).meta({
        description: 'Read the table as it was at this time (ISO 8601, UTC without an offset).',
        examples: ['2026-01-31T12:00:00Z'],
      }),
      columns: optional(z.array(text()).min(1)).meta({
        description: 'Top-level columns to read; all when absent.',
      }),
      batch_size: batchSize().meta({
        description: 'Records a page holds at most; 0 gives one page for each data file.',
      }),
    })
    .superRefine((value, ctx) => {
      checkPlace(value, ctx);
      const faults = versionFaults(['version', value.version], ['timestamp', value.timestamp]);
      for (const fault of faults) ctx.addIssue(fault);
    }),
);

export type DeltaSourceConfig = z.output<typeof deltaSourceConfig>;

const DEFAULT_FILE_BYTES = 100 * 1024 * 1024;

export const deltaSinkConfig = z.lazy(() =>
  otherName(
    'create_if_missing',
    'create_table',
    otherName(
      'create_if_not_missing',
      'create_table',
      z
        .strictObject({
          ...tableFields(),
          create_table: boolean().default(true).meta({
            description:
              'Whether a table that is not there is made, with the columns of the first records; may also be written as `create_if_missing` or `create_if_not_missing`.',
          }),
          partition_by: z
            .array(text())
            .default([])
            .meta({
              description: 'Columns by which a new table is partitioned.',
              examples: [['day']],
            }),
          schema_sample_size: integer({ min: 1 }).default(100).meta({
            description: 'Records from which the columns of a new table are learned.',
          }),
          write_mode: z.enum(['append', 'overwrite']).default('append').meta({
            description:
              'Whether records are added, or replace everything in the table when the run succeeds.',
          }),
          merge_schema: boolean().default(false).meta({
            description:
              'Whether fields that the table has no column for become columns; otherwise they are left out and counted.',
          }),
          target_file_size: integer({ min: 1 }).default(DEFAULT_FILE_BYTES).meta({
            description: 'Another data file begins at about this size, in bytes of values.',
          }),
          batch_size: batchSize().meta({
            description: 'Accepted for uniformity; records are written as they come.',
          }),
        })
        .superRefine((value, ctx) => {
          checkPlace(value, ctx);
          if (new Set(value.partition_by).size === value.partition_by.length) return;
          const message = '`partition_by` names a column twice';
          ctx.addIssue(finding('invalid_value', message, { path: ['partition_by'] }));
        }),
    ),
  ),
);

export type DeltaSinkConfig = z.output<typeof deltaSinkConfig>;
