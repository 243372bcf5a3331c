import { z } from 'zod';
import { batchSize, boolean, finding, integer, json, optional, text } from '../../kit/schema.ts';
import { isObject } from '../../lib/text/json.ts';
import { endpointUrl, httpUrl } from '../_http/fields.ts';
import { replication, stateKey } from '../_sql/source-fields.ts';
import { statementTimeout } from '../_sql/sink-fields.ts';
import { addFaults, doubtsAmong, type QueryFault } from '../_sql/query-fault.ts';
import { queryFaults } from './read/query.ts';

const HTTP_PORT = 8123;

const endpointFields = () => ({
  url: optional(
    httpUrl('Address of the HTTP interface, `https://clickhouse.example.com:8443`; or `host`.'),
  ),
  host: optional(
    text().regex(/^[^\s/@?#:[\]]+$|^\[?[0-9A-Fa-f:.]+\]?$/, 'is no name of a host'),
  ).meta({ description: 'The server, in place of `url`.', examples: ['clickhouse.example.com'] }),
  http_port: optional(integer({ min: 1, max: 65_535 })).meta({
    description: `Port of the HTTP interface, with \`host\`; ${HTTP_PORT} unless given.`,
  }),
  tls: optional(boolean()).meta({
    description: 'Whether the port of `host` speaks TLS; it does not unless given.',
  }),
  database: text().default('default').meta({
    description: 'Database of tables whose names have none.',
  }),
  user: optional(text()).meta({ description: 'Who asks; the user `default` when absent.' }),
  password: optional(z.string()).meta({ description: 'The password of the user.', secret: true }),
  statement_timeout_secs: statementTimeout(),
});

export interface Endpoint {
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly http_port?: number | undefined;
  readonly tls?: boolean | undefined;
  readonly database: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly statement_timeout_secs: number;
}

function checkEndpoint(config: Endpoint, ctx: z.RefinementCtx): void {
  const issue = (field: string, message: string, hint: string): void =>
    ctx.addIssue(finding('invalid_value', message, { path: [field], hint }));
  const { url, host } = config;
  if ((url === undefined) === (host === undefined))
    issue(
      url === undefined ? 'url' : 'host',
      url === undefined ? 'the server is not named' : '`url` names the server already',
      'write either `url`, or `host` with `http_port` and `tls`',
    );
  if (url === undefined) return;
  for (const field of ['http_port', 'tls'] as const)
    if (config[field] !== undefined)
      issue(field, '`url` says it already', `remove \`${field}\`, or write \`host\``);
  const { username, password } = new URL(url);
  if (`${username}${password}` !== '' && (config.user ?? config.password) !== undefined)
    issue('user', '`url` has a user already', 'remove one of them');
}

/** The address without a slash at its end; may hold a login. */
export function baseOf({ url, host = '', http_port: port, tls }: Endpoint): string {
  if (url !== undefined) return url;
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `${tls === true ? 'https' : 'http'}://${name}:${port ?? HTTP_PORT}`;
}

export const clickhouseSourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...endpointFields(),
      query: text().meta({
        description:
          'Statement whose rows are the records, without a FORMAT clause; `{field}` stands for a value of the parent record, `${row.field}` for one of that row, `@bookmark` for the last value of the incremental column.',
        examples: ['SELECT id, name FROM customers WHERE region = {region}'],
      }),
      batch_size: batchSize(),
      replication,
      state_key: stateKey,
    })
    .superRefine((config, ctx) => {
      checkEndpoint(config, ctx);
      addFaults(faultsOf(config), ctx);
    }),
);
export type ClickhouseSourceConfig = z.output<typeof clickhouseSourceConfig>;

type Query = Pick<ClickhouseSourceConfig, 'query' | 'replication'>;

function faultsOf({ query, replication: { type } }: Query): QueryFault[] {
  return queryFaults(query, type === 'incremental');
}

export const queryDoubts = (config: Query) => doubtsAmong(faultsOf(config));

const staging = () =>
  z.strictObject({
    location: text()
      .regex(/^(?:s3|gs):\/\/[^/\s*?{}]+(?:\/[^*?{}]*)?$/, 'is no place of objects')
      .meta({
        description: 'Bucket and prefix of the objects.',
        examples: ['s3://lake/staging', 'gs://lake/staging'],
      }),
    format: z.enum(['jsonl', 'csv']).default('jsonl').meta({
      description: 'Format of the objects; columns of lists and objects need `jsonl`.',
    }),
    compression: z.enum(['none', 'gzip', 'zstd']).default('none').meta({
      description: 'How the objects are compressed.',
    }),
    cleanup: z.enum(['always', 'on_success', 'never']).default('always').meta({
      description:
        'When an object is removed: after its load, after a load that succeeded, or not.',
    }),
    region: optional(text()).meta({ description: 'Region of the bucket.' }),
    endpoint: endpointUrl(
      'Address of the store where it is not that of the vendor; the server loads from there too.',
    ),
    access_key: optional(text()).meta({
      description:
        'Id of the access key (of `gs`: of an HMAC key), for this program and the server; without one, each uses what its machine has.',
    }),
    secret_key: optional(text()).meta({ description: 'Its secret.', secret: true }),
    copy_options: optional(
      json().superRefine((value, ctx) => {
        const isFlat =
          isObject(value) &&
          Object.entries(value).every(
            ([name, one]) => /^\w+$/.test(name) && typeof one !== 'object' && one !== undefined,
          );
        if (isFlat) return;
        const hint = 'e.g. `{max_insert_threads: 4}`';
        ctx.addIssue(finding('invalid_value', 'must be settings with plain values', { hint }));
      }),
    ).meta({
      description: 'Settings of the server for the statement that loads.',
      examples: [{ max_insert_threads: 4 }],
    }),
  });

const LARGEST_COMMIT = 1024 * 1024 * 1024;

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...endpointFields(),
    table: text().meta({
      description: 'Table to write to; `database.table` for one of another database.',
      examples: ['events', 'analytics.events'],
    }),
    batch_size: batchSize().meta({
      description: 'Records of one INSERT at most; 0: those of a page, all or none.',
    }),
    create_table: boolean().default(true).meta({
      description:
        'Create the table when it does not exist: a MergeTree without an order, with columns taken from the first page.',
    }),
    async_insert: boolean().default(false).meta({
      description:
        'Whether the server collects the records of several INSERTs before it stores them.',
    }),
    wait_for_async_insert: boolean().default(true).meta({
      description:
        'Whether an asynchronous INSERT is over when its records are stored. Without waiting, records that the server cannot store are lost.',
    }),
    commit_rows: optional(integer({ min: 1 })).meta({
      description:
        'Collect the records of several pages, up to this number, for one INSERT; what a bookmark stands behind is stored before it.',
    }),
    commit_bytes: optional(integer({ min: 1, max: LARGEST_COMMIT })).meta({
      description: 'The same by the size of the records; 64 MiB where only `commit_rows` is given.',
    }),
    staging: optional(staging()).meta({
      description: 'Load by objects of a store, which the server reads, in place of INSERTs.',
    }),
  }),
);

export const clickhouseSinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    checkEndpoint(config, ctx);
    const { staging: stage, async_insert: isAsync, wait_for_async_insert: waits } = config;
    const issue = (path: string[], message: string, hint: string): void =>
      ctx.addIssue(finding('invalid_value', message, { path, hint }));
    if (!waits && !isAsync)
      issue(
        ['wait_for_async_insert'],
        'there is nothing to wait for without `async_insert: true`',
        'remove it, or set `async_insert: true`',
      );
    if (stage === undefined) return;
    if (isAsync)
      issue(['async_insert'], 'a staged load is no INSERT of records', 'remove one of them');
    if ((stage.access_key === undefined) !== (stage.secret_key === undefined))
      issue(
        ['staging', stage.access_key === undefined ? 'access_key' : 'secret_key'],
        'the id of a key and its secret are needed together',
        'write both, or none',
      );
  }),
);
export type ClickhouseSinkConfig = z.output<typeof sinkFields>;
export type Staging = NonNullable<ClickhouseSinkConfig['staging']>;
