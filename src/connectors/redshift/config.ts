import { z } from 'zod';
import { batchSize, boolean, finding, integer, json, optional, text } from '../../kit/schema.ts';
import { isObject } from '../../lib/text/json.ts';
import { endpointUrl } from '../_http/fields.ts';
import { queryFaults } from '../_postgres/query.ts';
import { addFaults, doubtsAmong, type QueryFault } from '../_sql/query-fault.ts';
import { statementTimeout } from '../_sql/sink-fields.ts';
import { connections, readTimeout, replication, scalar, stateKey } from '../_sql/source-fields.ts';
import { statementFaults } from './read/statement.ts';

const PORT = 5439;

/** Logins of the service that need an API of their own. */
const OTHER_LOGINS = ['iam', 'redshift_data_api'] as const;

const credentials = () =>
  z
    .preprocess(
      withConfig,
      z.discriminatedUnion('type', [
        z.strictObject({
          type: z.literal('password').meta({ description: 'A password of the database.' }),
          config: z
            .strictObject({
              password: z.string().meta({ description: 'The password.', secret: true }),
            })
            .meta({ description: 'The password.' }),
        }),
        z.strictObject({
          type: z.enum(OTHER_LOGINS).meta({
            description: 'Not available in this version: only `password` works.',
          }),
          config: optional(json()).meta({ description: 'Fields of that login.' }),
        }),
      ]),
    )
    .superRefine(({ type }, ctx) => {
      if (type === 'password') return;
      ctx.addIssue(
        finding(
          'invalid_value',
          `\`${type}\` credentials are not available: only \`password\` works`,
          {
            path: ['type'],
            hint: 'write `{type: password, config: {password: …}}`; for IAM, the command `aws redshift get-cluster-credentials` gives a password for some time, and the `user` that belongs to it',
          },
        ),
      );
    })
    .meta({
      description: 'How the user logs in: `{type: password, config: {password}}`.',
      examples: [{ type: 'password', config: { password: '${env:REDSHIFT_PASSWORD}' } }],
    });

/** `{type, password}` means the same as `{type, config: {password}}`. */
function withConfig(value: unknown): unknown {
  if (!isObject(value) || 'config' in value || Object.keys(value).length < 2) return value;
  const { type, ...config } = value;
  return { type, config };
}

const connectionFields = () => ({
  host: text()
    .regex(/^[^\s/@?#]+$/, 'is no name of a host')
    .meta({
      description: 'The cluster or workgroup.',
      examples: ['shop.abc123.eu-west-1.redshift.amazonaws.com'],
    }),
  port: integer({ min: 1, max: 65_535 }).default(PORT).meta({ description: 'Its port.' }),
  database: text().meta({ description: 'Name of the database.' }),
  user: text().meta({ description: 'User of the database.' }),
  credentials: credentials(),
  tls: boolean().default(true).meta({
    description: 'Whether the connection is encrypted, and the certificate of the server checked.',
  }),
});

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly credentials: z.output<ReturnType<typeof credentials>>;
  readonly tls: boolean;
}

const sourceFields = z.lazy(() =>
  z.strictObject({
    ...connectionFields(),
    query: text().meta({
      description:
        'Statement whose rows are the records; `$1` … stand for `params`, `${row.field}` binds a field of the record, or the fan-out value, of that row, `${bookmark}` the last value of the incremental column.',
      examples: ['SELECT id, name FROM customers WHERE region = $1'],
    }),
    params: z
      .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
      .meta({ description: 'Values of `$1`, `$2`, … in the query.' }),
    max_connections: connections(10, 'Maximum number of open connections; a row uses one.'),
    read_timeout_secs: readTimeout,
    batch_size: batchSize(),
    replication,
    state_key: stateKey,
  }),
);

export const redshiftSourceConfig = z.lazy(() =>
  sourceFields.superRefine((config, ctx) => addFaults(faultsOf(config), ctx)),
);
export type RedshiftSourceConfig = z.output<typeof sourceFields>;

type Query = Pick<RedshiftSourceConfig, 'query' | 'params' | 'replication'>;

function faultsOf({ query, params, replication: { type } }: Query): QueryFault[] {
  return [...queryFaults(query, type === 'incremental'), ...statementFaults(query, params.length)];
}

export const queryDoubts = (config: Query) => doubtsAmong(faultsOf(config));

const LARGEST_COMMIT = 1024 * 1024 * 1024;

/** Fields that only a load by objects has. */
const COPY_FIELDS = [
  'copy_format',
  'staging_bucket',
  'iam_role',
  'staging_prefix',
  'region',
  'endpoint_url',
] as const;

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...connectionFields(),
    table_name: text().meta({ description: 'Table to write to.', examples: ['events'] }),
    schema: optional(text()).meta({
      description: 'Schema of the table; without it the first one of the search path.',
    }),
    write_strategy: z
      .preprocess((value) => value ?? undefined, z.enum(['copy', 'insert']).default('copy'))
      .meta({
        description:
          'Write the records to objects of S3 that COPY loads (`copy`), or send INSERT statements (`insert`), which are slow in this database.',
      }),
    copy_format: optional(z.enum(['jsonl', 'csv'])).meta({
      description: 'Format of the objects; `jsonl` unless given.',
    }),
    staging_bucket: optional(
      text().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is no name of a bucket'),
    ).meta({ description: 'Bucket of the objects; needed for `copy`.', examples: ['lake'] }),
    iam_role: optional(
      text().regex(/^(?:default|arn:[\w:/+=,.@-]+)$/, 'is neither an ARN nor `default`'),
    ).meta({
      description:
        'ARN of the role with which the cluster reads the objects, or `default`; needed for `copy`.',
      examples: ['arn:aws:iam::123456789012:role/redshift-copy'],
    }),
    staging_prefix: optional(z.string()).meta({
      description: 'What the keys of the objects begin with.',
      examples: ['headgate/'],
    }),
    region: optional(text().regex(/^[a-z0-9-]+$/, 'is no name of a region')).meta({
      description: 'Region of the bucket, where it is not that of the cluster.',
    }),
    endpoint_url: endpointUrl(
      'Address at which this program writes the objects, where it is not that of the vendor.',
    ),
    batch_size: batchSize().meta({
      description: 'Records of one COPY or INSERT at most; 0: all that are written together.',
    }),
    max_connections: connections(5, 'Maximum number of open connections; a sink uses one.'),
    statement_timeout_secs: statementTimeout(),
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
  }),
);

export const redshiftSinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    const isCopy = config.write_strategy === 'copy';
    for (const name of isCopy ? (['staging_bucket', 'iam_role'] as const) : [])
      if (config[name] === undefined)
        ctx.addIssue(
          finding('missing_key', `\`write_strategy: copy\` needs \`${name}\``, {
            path: [name],
            hint: 'add it, or set `write_strategy: insert` to do without S3',
          }),
        );
    for (const name of isCopy ? [] : COPY_FIELDS)
      if (config[name] !== undefined)
        ctx.addIssue(
          finding('invalid_value', `\`${name}\` belongs to \`write_strategy: copy\``, {
            path: [name],
            hint: 'remove it, or set `write_strategy: copy`',
          }),
        );
  }),
);
export type RedshiftSinkConfig = z.output<typeof sinkFields>;
