import { z } from 'zod';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import { googleAuth, type GoogleAuth } from '../_google/account.ts';
import { endpointUrl } from '../_http/fields.ts';
import { gcsAuth } from '../_objects/gcs-place.ts';
import { nonNull, scalar } from '../_sql/source-fields.ts';
import { queryFaults, restrictionFaults } from './read/query.ts';
import { TABLE_NAME } from './table-name.ts';

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

export const bigquerySourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...connectionFields(),
      query: optional(text()).meta({
        description:
          'Needed unless `read_table` is given. Statement whose rows are the records; `?` stands for the next of `params`, `{field}` for a value of the parent record, `${row.field}` for one of that row. All are bound as parameters.',
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
          'Whether rows are read by the Storage Read API (gRPC): those of the result of the query, or of `read_table`. It needs the packages `apache-arrow`, `@grpc/grpc-js` and `@bufbuild/protobuf`.',
      }),
      read_table: optional(
        text().regex(
          TABLE_NAME,
          'is no name of a table: write `dataset.table`, or `project.dataset.table`',
        ),
      ).meta({
        description:
          'With `read_api`: the table whose rows are read as they are stored, in place of a query; one that is there is then not run.',
        examples: ['shop.orders'],
      }),
      row_restriction: optional(text()).meta({
        description:
          'With `read_table`: only rows of which this expression is true. `{field}` and `${row.field}` become literals.',
        examples: ["day >= '2026-01-01' AND region = 'eu'"],
      }),
      selected_fields: optional(z.array(text()).min(1)).meta({
        description:
          'With `read_table`: only these columns, or fields of a STRUCT (`place.city`); their order stays that of the table.',
        examples: [['id', 'place.city']],
      }),
      max_streams: integer({ min: 1, max: 1000 }).default(1).meta({
        description:
          'With `read_api`: how many parts of the rows are read at the same time, at most. With more than one their order is lost.',
      }),
      read_api_endpoint: endpointUrl(
        'With `read_api`: another way to the Storage Read API: a regional or private endpoint; or, with `http`, an emulator, which is asked without a login.',
        'https://bigquerystorage.europe-west3.rep.googleapis.com',
      ),
    })
    .superRefine((config, ctx) => {
      checkConnection(config, ctx);
      checkReadApi(config, ctx);
      const { query, params, use_legacy_sql: isLegacy, row_restriction: restriction } = config;
      if (query !== undefined)
        for (const { message, hint } of queryFaults(query, { params: params.length, isLegacy }))
          ctx.addIssue(finding('invalid_value', message, { path: ['query'], hint }));
      for (const { message, hint } of restrictionFaults(restriction ?? ''))
        ctx.addIssue(finding('invalid_value', message, { path: ['row_restriction'], hint }));
    }),
);
export type BigquerySourceConfig = z.output<typeof bigquerySourceConfig>;

/** Each with what it needs. */
const NEEDS = {
  read_table: 'read_api',
  row_restriction: 'read_table',
  selected_fields: 'read_table',
  max_streams: 'read_api',
  read_api_endpoint: 'read_api',
} as const;

function checkReadApi(
  config: Pick<Connection, 'api_endpoint' | 'auth'> &
    Readonly<Partial<Record<keyof typeof NEEDS, unknown>>> & {
      readonly read_api: boolean;
      readonly query?: string | undefined;
    },
  ctx: z.RefinementCtx,
): void {
  const { query, read_api: isRead, read_table: table, read_api_endpoint: endpoint } = config;
  if (query === undefined && table === undefined)
    ctx.addIssue(
      finding('missing_key', 'there is neither a query nor a table to read', {
        path: ['query'],
        hint: 'write `query`, or `read_api: true` with `read_table`',
      }),
    );
  for (const [field, needed] of Object.entries(NEEDS) as [keyof typeof NEEDS, string][]) {
    const isSet = config[field] !== undefined && !(field === 'max_streams' && config[field] === 1);
    if (!isSet || (needed === 'read_api' ? isRead : table !== undefined)) continue;
    const hint =
      needed === 'read_api'
        ? 'set `read_api: true`, or remove it'
        : 'write `read_table`; columns and rows of a query are selected in it';
    ctx.addIssue(
      finding('missing_key', `\`${field}\` needs \`${needed}\``, { path: [field], hint }),
    );
  }
  if (!isRead || endpoint !== undefined || config.api_endpoint === undefined) return;
  ctx.addIssue(
    finding('missing_key', '`api_endpoint` is the way to the REST API only', {
      path: ['read_api_endpoint'],
      hint: 'write the way to the Storage Read API too',
    }),
  );
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
