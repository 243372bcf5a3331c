import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { sqlUriFault } from './catalog/sql-address.ts';
import { scalarText } from '../_http/fields.ts';
import { versionFaults } from '../_lake/moment.ts';
import { isSigned, propertyFaults } from './properties.ts';
import { filterFault } from './read/filter-text.ts';
import { parseTransform } from './schema/transforms.ts';

/** `hadoop` is what other programs call tables that have only their files. */
const CATALOG_TYPES = ['rest', 'sql', 'file', 'glue', 'hms'] as const;

const catalogFields = () =>
  z.strictObject({
    type: z.preprocess(
      (value) => (value === 'hadoop' ? 'file' : value),
      z.enum(CATALOG_TYPES).meta({
        description:
          'How the table is found: `rest` asks a REST catalog, `sql` a database (SQLite or PostgreSQL), `file` reads the folder of the warehouse alone, `glue` asks AWS Glue. `hms` is not reached directly.',
      }),
    ),
    uri: optional(text()).meta({
      description:
        'Address of the catalog: `https://…` of a REST catalog; `sqlite:///path/of/catalog.db` or `postgres://user:password@host/database` of a database. AWS Glue has one in each region.',
      examples: ['https://catalog.example.com', 'sqlite:///data/catalog.db'],
      secret: true,
    }),
    warehouse: optional(text()).meta({
      description:
        'The folder under which tables are made: a path, or an address that starts with `file://`, `s3://`, `s3a://` or `gs://`; the name of a warehouse for a REST catalog.',
      examples: ['s3://lake/warehouse'],
    }),
    credential: optional(text()).meta({
      description: 'Login of a REST catalog, as `client_id:client_secret`.',
      secret: true,
    }),
    properties: optional(z.record(z.string(), scalarText())).meta({
      description:
        'Settings of the catalog and of the store by the names that other programs for Iceberg use.',
      examples: [{ 's3.region': 'eu-north-1' }],
      secret: true,
    }),
  });

/** A bare type is one without settings. */
const catalog = () => z.preprocess(flattened, catalogFields());

/** Some documents write the settings below `config`. */
function flattened(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('config' in value)) return value;
  const { config, ...rest } = value;
  return typeof config === 'object' && config !== null ? { ...rest, ...config } : value;
}

export type CatalogConfig = z.output<ReturnType<typeof catalogFields>>;

const FOLDER = /^(?:file:|s3:\/\/|s3a:\/\/|gs:\/\/|\/|\.{0,2}\/|[^:]+$)/i;
const WAREHOUSES = { sql: FOLDER, file: FOLDER, hms: FOLDER, glue: /^s3a?:\/\/[^/]/i } as const;
const UNREACHED: Readonly<Partial<Record<CatalogConfig['type'], string>>> = {
  hms: 'use `type: rest` with a catalog server in front of the metastore, or `type: sql`',
};

const CREDENTIAL_HINTS = {
  sql: 'write the login into `uri`',
  file: 'remove it',
  hms: 'remove it',
  glue: 'set `client.access-key-id` and `client.secret-access-key` among the properties',
} as const;

function checkCatalog(
  { catalog: given }: { readonly catalog: CatalogConfig },
  ctx: z.RefinementCtx,
) {
  const refuse = (field: string, message: string, hint: string): void =>
    ctx.addIssue(finding('invalid_value', message, { path: ['catalog', field], hint }));
  const { type, uri, warehouse, credential, properties = {} } = given;
  const unreached = UNREACHED[type];
  if (unreached !== undefined) {
    refuse('type', `a catalog of type \`${type}\` is not reached directly`, unreached);
    return;
  }
  if (type === 'file' && uri !== undefined)
    refuse(
      'uri',
      'a file catalog has no address',
      'remove it; `warehouse` says where the tables are',
    );
  if ((type === 'rest' || type === 'sql') && uri === undefined)
    refuse('uri', `a catalog of type \`${type}\` needs an address`, 'set `uri`');
  if ((type === 'rest' || type === 'glue') && uri !== undefined && !/^https?:\/\/[^/]/i.test(uri))
    refuse('uri', 'this is no address of a REST catalog', 'write it as `https://host/path`');
  if (type === 'sql' && uri !== undefined) {
    const fault = sqlUriFault(uri);
    if (fault !== undefined)
      refuse('uri', fault, 'write `sqlite:///path` or `postgres://user:password@host/database`');
  }
  if (type !== 'rest' && warehouse === undefined)
    refuse('warehouse', 'it is not said where tables are made', 'set `warehouse`');
  if (type !== 'rest' && warehouse !== undefined && !WAREHOUSES[type].test(warehouse))
    refuse(
      'warehouse',
      'tables cannot be made there',
      type === 'glue'
        ? 'use `s3://` or `s3a://`; the id of a catalog is the property `glue.id`'
        : 'use a path, or `file://`, `s3://`, `s3a://` or `gs://`',
    );
  if (type !== 'rest' && credential !== undefined)
    refuse('credential', 'only a REST catalog has a login of this kind', CREDENTIAL_HINTS[type]);
  if (type === 'rest' && credential !== undefined && isSigned(properties))
    refuse('credential', 'a signed request has no other login', 'remove one of the two');
  else if (type === 'rest' && credential !== undefined && !credential.includes(':'))
    refuse('credential', 'this is no login', 'write it as `client_id:client_secret`');
  for (const { path, message, hint } of propertyFaults(type, properties))
    ctx.addIssue(
      finding('invalid_value', message, { path: ['catalog', 'properties', path], hint }),
    );
}

/** Ids of snapshots have 64 bits, which text keeps digit by digit. */
const snapshotId = () =>
  optional(
    z.preprocess(
      (value) => (typeof value === 'number' || typeof value === 'bigint' ? String(value) : value),
      z.string().regex(/^\d{1,19}$/),
    ),
  );

/** A number is milliseconds, as other programs for these tables count. */
const time = () =>
  z.preprocess(
    (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) <= 8.64e15
        ? new Date(value).toISOString()
        : value,
    text(),
  );

export const icebergSourceConfig = z.lazy(() =>
  z
    .strictObject({
      catalog: catalog().meta({ description: 'The catalog that knows the table.' }),
      table: z
        .string()
        .regex(/^[^.]+(?:\.[^.]+)+$/)
        .meta({
          description: 'The table, as `namespace.name`.',
          examples: ['sales.orders'],
        }),
      columns: optional(z.array(text()).min(1)).meta({
        description: 'Top-level columns to read; all when absent.',
      }),
      filter: optional(text()).meta({
        description:
          'Which records are read: comparisons of columns (`=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `is null`, `starts_with`), joined by `and`, `or` and `not`.',
        examples: ["day >= '2026-01-01' and country in ('DE', 'FR')"],
      }),
      snapshot_id: snapshotId().meta({
        description: 'The snapshot to read; the current one when absent. Write it in quotes.',
        examples: ['3051729675574597004'],
      }),
      as_of_timestamp: optional(time()).meta({
        description:
          'Read the table as it was at this time: ISO 8601, UTC without an offset, or milliseconds since 1970.',
        examples: ['2026-01-31T12:00:00Z', 1769860800000],
      }),
      mode: z.enum(['full', 'incremental']).default('full').meta({
        description: 'Whether all records are read, or those that were added since the bookmark.',
      }),
      on_rewrite: z.enum(['fail', 'full_refresh']).default('fail').meta({
        description:
          'In mode `incremental`: what happens when records were changed or deleted since the bookmark.',
      }),
      on_expired: z.enum(['fail', 'full_refresh']).default('fail').meta({
        description:
          'In mode `incremental`: what happens when the snapshot of the bookmark is gone.',
      }),
      batch_size: batchSize().meta({
        description: 'Records a page holds at most; 0 gives one page for each data file.',
      }),
      concurrency: integer({ min: 1, max: 64 }).default(4).meta({
        description: 'How many manifests are read at the same time.',
      }),
    })
    .superRefine((value, ctx) => {
      checkCatalog(value, ctx);
      const faults = versionFaults(
        ['snapshot_id', value.snapshot_id],
        ['as_of_timestamp', value.as_of_timestamp],
      );
      for (const fault of faults) ctx.addIssue(fault);
      if (value.filter !== undefined) {
        const fault = filterFault(value.filter);
        if (fault !== undefined)
          ctx.addIssue(finding('invalid_value', fault, { path: ['filter'] }));
      }
      for (const field of ['snapshot_id', 'as_of_timestamp'] as const) {
        if (value.mode === 'full' || value[field] === undefined) continue;
        const message = `\`${field}\` cannot be combined with mode \`incremental\``;
        const hint = 'remove it: the bookmark says what is read';
        ctx.addIssue(finding('invalid_value', message, { path: [field], hint }));
      }
    }),
);

export type IcebergSourceConfig = z.output<typeof icebergSourceConfig>;

const partitionField = () =>
  z.strictObject({
    source: text().meta({ description: 'The column.' }),
    transform: z
      .string()
      .refine((value) => parseTransform(value) !== undefined, {
        message:
          'this is none of identity, year, month, day, hour, void, bucket[N] and truncate[N]',
      })
      .default('identity')
      .meta({
        description:
          'What is made of its values: `identity`, `year`, `month`, `day`, `hour`, `void`, `bucket[N]` or `truncate[N]`.',
        examples: ['day', 'bucket[16]'],
      }),
    name: optional(text()).meta({
      description: 'Name of the partition field; made of the two others when absent.',
    }),
  });

/** A namespace or a table; its name is part of addresses. */
const step = () => z.string().regex(/^[^./\\]+$/);

const COMPRESSIONS = ['snappy', 'zstd', 'gzip', 'lz4', 'none'] as const;

export const icebergSinkConfig = z.lazy(() =>
  otherName(
    'create_if_missing',
    'create_table',
    otherName(
      'table_name',
      'table',
      z
        .strictObject({
          catalog: catalog().meta({ description: 'The catalog that knows the table.' }),
          namespace: z
            .preprocess(
              (value) => (typeof value === 'string' ? value.split('.') : value),
              z.array(step()).min(1),
            )
            .meta({
              description: 'The namespace of the table, one step an item.',
              examples: [['sales']],
            }),
          table: step().meta({
            description: 'Name of the table; may also be written as `table_name`.',
            examples: ['orders'],
          }),
          create_table: boolean().default(true).meta({
            description:
              'Whether a table that is not there is made, with the columns of the first page; may also be written as `create_if_missing`.',
          }),
          partition_spec: z
            .array(partitionField())
            .default([])
            .meta({
              description: 'How a new table is partitioned.',
              examples: [[{ source: 'ordered_at', transform: 'day' }]],
            }),
          write_mode: z.enum(['append']).default('append').meta({
            description: 'Records are added.',
          }),
          merge_schema: boolean().default(false).meta({
            description:
              'Whether fields without a column become columns of the table; otherwise they are left out and counted.',
          }),
          target_file_size_mb: integer({ min: 1 }).default(256).meta({
            description: 'Another data file begins at about this size.',
          }),
          parquet: z
            .strictObject({
              compression: z.enum(COMPRESSIONS).default('snappy').meta({
                description: 'How the pages of data files are compressed.',
              }),
            })
            .default({ compression: 'snappy' })
            .meta({ description: 'How data files are written.' }),
          snapshot_properties: z
            .record(z.string(), scalarText())
            .default({})
            .meta({
              description:
                'What the summary of each snapshot says besides. `commit.retry.num-retries` (4 when absent), `commit.retry.min-wait-ms`, `commit.retry.max-wait-ms` and `commit.retry.total-timeout-ms` say how often a commit is made again when another writer was faster.',
              examples: [{ team: 'sales' }],
            }),
          batch_size: batchSize(10_000).meta({
            description: 'Accepted for uniformity; records are written as they come.',
          }),
          cleanup_orphans_on_failure: boolean().default(false).meta({
            description:
              'Whether data files are removed when their commit was definitely refused; files that were not offered to the catalog are always removed, and those whose commit is in doubt never.',
          }),
        })
        .superRefine((value, ctx) => {
          checkCatalog(value, ctx);
          const message = 'this is no number of milliseconds or attempts';
          for (const [name, given] of Object.entries(value.snapshot_properties)) {
            const path = ['snapshot_properties', name];
            const isNumber = RETRY_SETTINGS.has(name);
            if (isNumber && !/^\d+$/.test(given))
              ctx.addIssue(finding('invalid_value', message, { path }));
            if ((name.startsWith('commit.') && !isNumber) || RESERVED.test(name))
              ctx.addIssue(
                finding('invalid_value', `\`${name}\` is not for the summary of a snapshot`, {
                  path,
                  hint: 'remove it',
                }),
              );
          }
        }),
    ),
  ),
);

export const RETRY_SETTINGS: ReadonlySet<string> = new Set([
  'commit.retry.num-retries',
  'commit.retry.min-wait-ms',
  'commit.retry.max-wait-ms',
  'commit.retry.total-timeout-ms',
]);

/** What the sink itself says in a summary. */
const RESERVED = /^(?:operation|(?:added|total|deleted)-.*|svc\..*)$/;

export type IcebergSinkConfig = z.output<typeof icebergSinkConfig>;
