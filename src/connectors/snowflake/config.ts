import { z } from 'zod';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { withShared } from '../_http/auth.ts';
import { endpointUrl } from '../_http/fields.ts';
import { scalar } from '../_sql/source-fields.ts';
import { queryFaults } from './read/query.ts';
import { STORE_OPTIONS, stageFault } from '../_objects/load-place.ts';

const auth = () =>
  withShared(
    z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('key_pair').meta({ description: 'The private key of a user.' }),
        config: z
          .strictObject({
            user: text().meta({ description: 'Name of the user.' }),
            private_key_pem: text().meta({
              description:
                'The key as PEM (PKCS#8, not encrypted), of which the user has the public half.',
              secret: true,
            }),
          })
          .meta({ description: 'Whose key it is.' }),
      }),
      z.strictObject({
        type: z.literal('oauth').meta({ description: 'A token of an OAuth server.' }),
        config: z
          .strictObject({ token: text().meta({ description: 'The token.', secret: true }) })
          .meta({ description: 'The token.' }),
      }),
    ]),
  ).meta({
    description:
      'How requests authenticate: a key pair, an OAuth token, or a shared login (`ref`) that gives a bearer token.',
  });

const sessionFields = () => ({
  account: text()
    .superRefine((account, ctx) => {
      const isAddress = /snowflakecomputing|:\/\//i.test(account);
      if (!isAddress && /^[A-Za-z0-9][\w.-]*$/.test(account)) return;
      const hint = 'write what its address has before `.snowflakecomputing.com`, as `acme-shop`';
      ctx.addIssue(finding('invalid_value', 'this is no identifier of an account', { hint }));
    })
    .meta({
      description:
        'Identifier of the account: what its address has before `.snowflakecomputing.com`.',
      examples: ['acme-shop', 'xy12345.eu-central-1'],
    }),
  endpoint_url: endpointUrl(
    'Address of the account where it is another one, as with PrivateLink.',
    'https://acme-shop.privatelink.snowflakecomputing.com',
  ),
  auth: auth(),
  warehouse: optional(text()).meta({
    description: 'Warehouse that works on the statements; that of the user when absent.',
  }),
  role: optional(text()).meta({ description: 'Role; that of the user when absent.' }),
  poll_timeout: integer({ min: 0, max: 604_800 }).default(300).meta({
    description:
      'Seconds after which a statement that has not ended is cancelled; 0 waits forever.',
  }),
});

export interface Endpoint {
  readonly account: string;
  readonly endpoint_url?: string | undefined;
  readonly auth: z.output<ReturnType<typeof auth>>;
  readonly warehouse?: string | undefined;
  readonly role?: string | undefined;
  readonly database?: string | undefined;
  readonly schema?: string | undefined;
  readonly poll_timeout: number;
}

const sourceFields = z.lazy(() =>
  z.strictObject({
    ...sessionFields(),
    database: optional(text()).meta({
      description: 'Database of tables whose names have none; that of the user when absent.',
    }),
    schema: optional(text()).meta({ description: 'Schema of tables whose names have none.' }),
    query: text().meta({
      description:
        'Statement whose rows are the records; `?` … stand for `params`, `{field}` for a value of the parent record, `${row.field}` for one of that row.',
      examples: ['SELECT id, name FROM customers WHERE region = ?'],
    }),
    params: z
      .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
      .meta({ description: 'Values of the `?` in the query, in their order.' }),
    statement_timeout: integer({ min: 0, max: 604_800 }).default(60).meta({
      description: 'Seconds after which the server ends the statement; 0: as late as it can.',
    }),
    batch_size: batchSize(),
  }),
);

export const snowflakeSourceConfig = z.lazy(() =>
  sourceFields.superRefine(({ query, params }, ctx) => {
    for (const { message, hint } of queryFaults(query, params.length))
      ctx.addIssue(finding('invalid_value', message, { path: ['query'], hint }));
  }),
);
export type SnowflakeSourceConfig = z.output<typeof sourceFields>;

const bulkLoad = () =>
  z
    .strictObject({
      stage: text()
        .regex(/^@?[\w$".]+$/, 'is no name of a stage')
        .meta({
          description: 'External stage of the account, which stands for `url`.',
          examples: ['lake_stage', 'RAW.PUBLIC.LAKE_STAGE'],
        }),
      url: text().meta({
        description: 'Where this program writes the objects: the place of the stage, or below it.',
        examples: ['s3://lake/snowflake', 'gcs://lake/snowflake'],
      }),
      storage_options: z
        .preprocess((value) => value ?? undefined, z.record(z.string(), z.string()).default({}))
        .meta({
          description: `Settings and login of the store: ${STORE_OPTIONS.map((name) => `\`${name}\``).join(', ')}. Without a login, the machine has one.`,
          secret: true,
        }),
      match_by_column_name: z
        .preprocess(
          (value) => (typeof value === 'string' ? value.toUpperCase() : (value ?? undefined)),
          z.enum(['CASE_INSENSITIVE', 'CASE_SENSITIVE', 'NONE']).default('CASE_INSENSITIVE'),
        )
        .meta({
          description:
            'How COPY finds the column of a field; with `NONE` the statement names field and column of each.',
        }),
      purge: boolean().default(false).meta({
        description: 'Whether the server removes an object when it is loaded; else they stay.',
      }),
    })
    .superRefine((config, ctx) => {
      const fault = stageFault(config);
      if (fault === undefined) return;
      const { path, message, hint } = fault;
      ctx.addIssue(finding('invalid_value', message, { path: [...path], hint }));
    });

const LARGEST_COMMIT = 1024 * 1024 * 1024;

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...sessionFields(),
    database: text().meta({ description: 'Database of the table.' }),
    schema: text().meta({ description: 'Schema of the table.' }),
    table: text().meta({
      description:
        'Table to write to. A plain name means what it means in a statement: `events` is EVENTS; in double quotes it is taken as it is.',
      examples: ['events'],
    }),
    batch_size: batchSize().meta({
      description: 'Records of one INSERT or COPY at most; 0: all that are written together.',
    }),
    create_table: boolean().default(true).meta({
      description:
        'Create the table when it does not exist: its columns are taken from the first page and may be null.',
    }),
    commit_rows: optional(integer({ min: 1 })).meta({
      description:
        'Collect the records of several pages, up to this number, for one transaction; what a bookmark stands behind is stored before it.',
    }),
    commit_bytes: optional(integer({ min: 1, max: LARGEST_COMMIT })).meta({
      description: 'The same by the size of the records; 64 MiB where only `commit_rows` is given.',
    }),
    bulk_load: optional(bulkLoad()).meta({
      description:
        'Load by objects of an external stage and COPY INTO, in place of INSERTs: faster for many records.',
    }),
  }),
);
export const snowflakeSinkConfig = sinkFields;
export type SnowflakeSinkConfig = z.output<typeof sinkFields>;
export type BulkLoad = NonNullable<SnowflakeSinkConfig['bulk_load']>;
