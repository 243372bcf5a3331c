import { z } from 'zod';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import { googleAuth, type GoogleAuth } from '../_google/account.ts';
import { endpointUrl } from '../_http/fields.ts';
import { gcsAuth } from '../_objects/gcs-place.ts';
import { nonNull, scalar } from '../_sql/source-fields.ts';
import { queryFaults } from './read/query.ts';

const connectionFields = () => ({
  project_id: text()
    .regex(/^[\w.:-]+$/, 'is no id of a project')
    .meta({ description: 'Project in which jobs run and are paid for.', examples: ['my-project'] }),
  auth: googleAuth('Nobody: for an emulator, whose address is `api_endpoint`.').meta({
    description: 'Who asks.',
  }),
  location: optional(text()).meta({
    description:
      'Where the data is, such as `EU` or `europe-west3`; BigQuery finds it when absent.',
  }),
  statement_timeout: integer({ min: 1, max: 180 }).default(60).meta({
    description: 'Seconds that one request waits for the end of a job before it is asked again.',
    advanced: true,
  }),
  poll_timeout: integer({ min: 0, max: 2_000_000 }).default(300).meta({
    description:
      'Seconds after which a job that has not ended is cancelled, and the run fails; 0 waits forever.',
    advanced: true,
  }),
  api_endpoint: endpointUrl(
    'Another way to the service: a regional or private endpoint, or an emulator.',
    'https://bigquery.europe-west3.rep.googleapis.com',
  ),
});

export interface Connection {
  readonly project_id: string;
  readonly auth: GoogleAuth;
  readonly location?: string | undefined;
  readonly statement_timeout: number;
  readonly poll_timeout: number;
  readonly api_endpoint?: string | undefined;
}

function checkConnection(config: Connection, ctx: z.RefinementCtx): void {
  if (config.auth.type !== 'anonymous' || config.api_endpoint !== undefined) return;
  const hint = 'write `type: application_default`, or the key of a service account';
  const message = 'BigQuery answers nobody without a login; only emulators do';
  ctx.addIssue(finding('invalid_value', message, { path: ['auth', 'type'], hint }));
}

/** Settings of the Storage Read API. */
const READ_API_FIELDS = [
  'read_table',
  'row_restriction',
  'selected_fields',
  'max_streams',
] as const;

export const bigquerySourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...connectionFields(),
      query: text().meta({
        description:
          'Statement whose rows are the records; `?` stands for the next of `params`, `{field}` for a value of the parent record, `${row.field}` for one of that row. All are bound as parameters.',
        examples: ['SELECT id, name FROM `shop.customers` WHERE region = ?'],
      }),
      params: z
        .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
        .meta({ description: 'Values of the placeholders `?` of the query, in their order.' }),
      use_legacy_sql: boolean().default(false).meta({
        description: 'Whether the query is legacy SQL, which knows no parameters.',
      }),
      max_results_per_page: integer({ min: 1, max: 1_000_000 }).default(1000).meta({
        description: 'Rows that one request for a part of the result asks for.',
        advanced: true,
      }),
      batch_size: batchSize(),
      read_api: boolean().default(false).meta({
        description:
          'The Storage Read API is not supported: `true` is refused. Results of queries are read by pages.',
        advanced: true,
      }),
      read_table: optional(text()).meta({
        description: 'Only for `read_api`.',
        advanced: true,
      }),
      row_restriction: optional(text()).meta({
        description: 'Only for `read_api`.',
        advanced: true,
      }),
      selected_fields: optional(z.array(text())).meta({
        description: 'Only for `read_api`.',
        advanced: true,
      }),
      max_streams: integer({ min: 1 }).default(1).meta({
        description: 'Only for `read_api`.',
        advanced: true,
      }),
    })
    .superRefine((config, ctx) => {
      checkConnection(config, ctx);
      checkReadApi(config, ctx);
      const { query, params, use_legacy_sql: isLegacy } = config;
      for (const { message, hint } of queryFaults(query, { params: params.length, isLegacy }))
        ctx.addIssue(finding('invalid_value', message, { path: ['query'], hint }));
    }),
);
export type BigquerySourceConfig = z.output<typeof bigquerySourceConfig>;

function checkReadApi(
  config: { readonly read_api: boolean; readonly max_streams: number } & Readonly<
    Partial<Record<'read_table' | 'row_restriction' | 'selected_fields', unknown>>
  >,
  ctx: z.RefinementCtx,
): void {
  if (config.read_api) {
    const message = 'the Storage Read API of BigQuery (gRPC) is not supported';
    const hint = 'remove `read_api` and what belongs to it, and select columns and rows in `query`';
    ctx.addIssue(finding('invalid_value', message, { path: ['read_api'], hint }));
    return;
  }
  for (const field of READ_API_FIELDS) {
    const isSet = field === 'max_streams' ? config.max_streams !== 1 : config[field] !== undefined;
    if (!isSet) continue;
    const message = `\`${field}\` belongs to the Storage Read API, which is not supported`;
    const hint = 'remove it, and select columns and rows in `query`';
    ctx.addIssue(finding('invalid_value', message, { path: [field], hint }));
  }
}

const bulkLoad = () =>
  z.strictObject({
    staging_bucket: text().meta({ description: 'Bucket in which the records are collected.' }),
    staging_prefix: z
      .string()
      .default('svc-bq-load/')
      .meta({ description: 'What the names of the objects start with.' }),
    gcs_auth: gcsAuth().optional().meta({
      description:
        'Who writes the objects; who asks BigQuery when absent, and nobody where `storage_host` is given.',
    }),
    write_disposition: z
      .enum(['WRITE_APPEND', 'WRITE_TRUNCATE', 'WRITE_EMPTY'])
      .default('WRITE_APPEND')
      .meta({
        description:
          'Add to the rows of the table (each flush is a load), replace them, or only load into an empty table; the last two load everything at the end of the run, or nothing.',
      }),
    storage_host: endpointUrl('Address of an emulator of the store.', 'http://localhost:4443'),
  });

const scope = () =>
  z.strictObject({
    window: z
      .strictObject({
        column: text().meta({ description: 'Column that decides which rows are replaced.' }),
        from: nonNull.meta({ description: 'Lowest value that is replaced.' }),
        to: nonNull.meta({ description: 'First value above the range; it is not replaced.' }),
      })
      .meta({ description: 'Half-open range: `from` belongs to it, `to` does not.' }),
  });

const NAME = /^[^`.:/\\]+$/;

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...connectionFields(),
    dataset_id: text().regex(NAME, 'is no name of a dataset').meta({
      description: 'Dataset of the table.',
    }),
    table_id: text()
      .regex(NAME, 'is no name of a table')
      .meta({ description: 'Table to write to.' }),
    batch_size: batchSize().meta({
      description:
        'Records of one request at most, 500 is advised by the vendor; 0: those of a page. Requests are kept below 10 MB by themselves.',
    }),
    create_table: boolean().default(true).meta({
      description:
        'Create the table when it does not exist: its columns are taken from the first page and may be null; the key of an upsert becomes its primary key, which BigQuery does not enforce.',
    }),
    insert_id_field: optional(text()).meta({
      description:
        'Field whose value tells repeated records apart: BigQuery drops a record that it got with the same value within about a minute. For appended records.',
    }),
    on_rounding: optional(z.enum(['warn', 'error'])).meta({
      description:
        'What to do with a value that its column does not hold exactly, such as 1.105 in `NUMERIC(10, 2)`: write it rounded, warn and count it in the receipt (`warn`), or fail the run (`error`).',
    }),
    ...writeFields(['append', 'upsert', 'delete', 'overwrite']),
    scope: optional(scope()).meta({
      description: 'Overwrite only: the part of the table that is replaced.',
    }),
    bulk_load: optional(bulkLoad()).meta({
      description:
        'Load the records by objects of Google Cloud Storage in place of streaming them; append only.',
    }),
  }),
);

export const bigquerySinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    checkConnection(config, ctx);
    checkWriteFields(config, ctx);
    const issue = (path: string, message: string, hint: string): void =>
      ctx.addIssue(finding('invalid_value', message, { path: [path], hint }));
    const { write_mode: mode, bulk_load: bulk, insert_id_field: id } = config;
    if (config.scope !== undefined && mode !== 'overwrite')
      issue(
        'scope',
        '`scope` works only with `write_mode: overwrite`',
        'remove it, or change the mode',
      );
    if (bulk !== undefined && mode !== 'append')
      issue('bulk_load', '`bulk_load` only appends', 'remove it, or write `write_mode: append`');
    if (id !== undefined && (mode !== 'append' || bulk !== undefined))
      issue('insert_id_field', 'only records that are streamed have an insert id', 'remove it');
  }),
);
export type BigquerySinkConfig = z.output<typeof sinkFields>;
export type BulkLoad = NonNullable<BigquerySinkConfig['bulk_load']>;

/** Whether all records are loaded at the end of the run, or none. */
export function loadsAtEnd({ bulk_load: bulk }: Pick<BigquerySinkConfig, 'bulk_load'>): boolean {
  return bulk !== undefined && bulk.write_disposition !== 'WRITE_APPEND';
}
