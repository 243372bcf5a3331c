import { z } from 'zod';
import { batchSize, boolean, finding, integer, number, optional, text } from '../../kit/schema.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import { isObject } from '../../lib/text/json.ts';
import { withShared } from '../_http/auth.ts';
import { STORE_OPTIONS } from '../_objects/load-place.ts';
import { checkSqlSink, sqlSinkFields } from '../_sql/sink-fields.ts';
import { replication, scalar, stateKey } from '../_sql/source-fields.ts';
import { isTableName } from './names.ts';
import { addFaults, doubtsAmong, type QueryFault } from '../_sql/query-fault.ts';
import { queryFaults } from './read/query.ts';
import { stagingFault } from './write/staging-place.ts';

const login = (type: string, description: string) =>
  z.strictObject({
    type: z.literal(type).meta({ description }),
    config: z
      .strictObject({ token: text().meta({ description: 'The token.', secret: true }) })
      .meta({ description: 'The token.' }),
  });

const auth = () =>
  withShared(
    z.preprocess(
      withConfig,
      z.discriminatedUnion('type', [
        login('pat', 'A personal access token of a user.'),
        login('token', 'Another bearer token, as one of OAuth.'),
      ]),
    ),
  ).meta({
    description:
      'How requests authenticate: a personal access token, another bearer token, or a shared login (`ref`) that gives one.',
    examples: [{ type: 'pat', config: { token: '${env:DATABRICKS_TOKEN}' } }],
  });

/** `{type, token}` means the same as `{type, config: {token}}`. */
function withConfig(value: unknown): unknown {
  if (!isObject(value) || 'config' in value || 'ref' in value) return value;
  const { type, ...config } = value;
  return { type, config };
}

const HOST = /^(?:https?:\/\/)?[A-Za-z0-9.-]+(?::\d+)?\/?$/;

/** The API waits at least so long, or not at all. */
const LEAST_WAIT_SECS = 5;

const connectionFields = () => ({
  workspace_url: text()
    .regex(HOST, 'is no address of a workspace')
    .meta({
      description: 'Address of the workspace.',
      examples: ['https://dbc-a1b2c3d4-e5f6.cloud.databricks.com'],
    }),
  warehouse_id: text()
    .regex(/^[\w-]+$/, 'is no id of a warehouse')
    .meta({
      description: 'Id of the SQL warehouse that works on the statements.',
      examples: ['1234567890abcdef'],
    }),
  auth: auth(),
  catalog: optional(text()).meta({
    description: 'Catalog of tables whose names have none; that of the workspace when absent.',
  }),
  schema: optional(text()).meta({
    description: 'Schema of tables whose names have none; `default` when absent.',
  }),
  wait_timeout_secs: integer({ min: 0, max: 50 })
    .superRefine((secs, ctx) => {
      if (secs === 0 || secs >= LEAST_WAIT_SECS) return;
      ctx.addIssue(finding('out_of_range', `must be 0, or from ${LEAST_WAIT_SECS} to 50`));
    })
    .default(50)
    .meta({
      description:
        'Seconds that the answer to a new statement may wait for its end: 0, or 5 to 50. With 0 the statement is asked for from the start.',
      advanced: true,
    }),
  statement_timeout_secs: integer({ min: 0, max: 604_800 }).default(3600).meta({
    description:
      'Seconds after which a statement that has not ended is cancelled; 0 waits forever.',
    advanced: true,
  }),
});

export interface Endpoint {
  readonly workspace_url: string;
  readonly warehouse_id: string;
  readonly auth: z.output<ReturnType<typeof auth>>;
  readonly catalog?: string | undefined;
  readonly schema?: string | undefined;
  readonly wait_timeout_secs: number;
  readonly statement_timeout_secs: number;
}

const parameter = z.lazy(() =>
  z.strictObject({
    name: text()
      .regex(/^[A-Za-z_]\w*$/, 'is no name of a parameter')
      .meta({ description: 'What stands behind the colon in the statement.' }),
    value: z
      .preprocess((value) => value ?? null, scalar)
      .meta({ description: 'Its value; null when absent.' }),
    type: optional(
      text().regex(/^[A-Za-z_]+(?: *\( *\d+ *(?:, *\d+ *)?\))?$/, 'is no type of a parameter'),
    ).meta({
      description: 'Its type, such as `DATE` or `DECIMAL(10,2)`; that of the value when absent.',
      examples: ['DATE'],
    }),
  }),
);

const sourceFields = z.lazy(() =>
  z.strictObject({
    ...connectionFields(),
    sql: text().meta({
      description:
        'Statement whose rows are the records; `:name` stands for one of `parameters`, `{field}` for a value of the parent record, `${row.field}` for one of that row, `${bookmark}` for the last value of the incremental column.',
      examples: ['SELECT id, name FROM customers WHERE region = :region'],
    }),
    parameters: z
      .preprocess((value) => value ?? undefined, z.array(parameter).default([]))
      .meta({ description: 'Values of `:name` in the statement, bound by the server.' }),
    poll_interval_secs: number({ min: 0.01, max: 3600 }).default(1).meta({
      description: 'Seconds between two looks at a statement that has not ended, at most.',
      advanced: true,
    }),
    batch_size: batchSize(),
    arrow_native: boolean().default(false).meta({
      description:
        'Fetch the result as Arrow instead of JSON, by links, with the same values; needs the package `apache-arrow`, and `replication: {type: full}`.',
      advanced: true,
    }),
    external_links: boolean().default(false).meta({
      description:
        'Fetch the result from the storage of the workspace by links: for results beyond 25 MiB, which no answer of the API holds.',
    }),
    replication,
    state_key: stateKey,
  }),
);

export const databricksSourceConfig = z.lazy(() =>
  sourceFields.superRefine((config, ctx) => {
    const { parameters, replication: how, arrow_native: isArrow } = config;
    addFaults(faultsOf(config), ctx, 'sql');
    const seen = new Set<string>();
    for (const [at, { name }] of parameters.entries()) {
      const path = ['parameters', at, 'name'];
      if (seen.has(name))
        ctx.addIssue(finding('invalid_value', `\`${name}\` has two values`, { path }));
      seen.add(name);
    }
    if (!isArrow || how.type === 'full') return;
    const hint = 'remove it, or set `replication: {type: full}`';
    const message = 'results in the format of Arrow are read whole, not from a bookmark on';
    ctx.addIssue(finding('invalid_value', message, { path: ['arrow_native'], hint }));
  }),
);
export type DatabricksSourceConfig = z.output<typeof sourceFields>;

type Query = Pick<DatabricksSourceConfig, 'sql' | 'parameters' | 'replication'>;

function faultsOf({ sql, parameters, replication: { type } }: Query): QueryFault[] {
  const names = parameters.map(({ name }) => name);
  return queryFaults(sql, { names, isIncremental: type === 'incremental' });
}

export const queryDoubts = (config: Query) => doubtsAmong(faultsOf(config), 'sql');

const copyOption = z.lazy(() =>
  z.preprocess(
    (value) => (typeof value === 'string' ? value : String(value)),
    z.string().regex(/^[\w.:+-]*$/, 'is no value of an option'),
  ),
);

const staging = () =>
  z.strictObject({
    location: text().meta({
      description:
        'Where the objects are written, for the warehouse to load: a folder of a volume of the workspace, or of a store that it may read.',
      examples: ['/Volumes/main/default/landing', 's3://lake/staging'],
    }),
    storage_options: z
      .preprocess((value) => value ?? undefined, z.record(z.string(), z.string()).default({}))
      .meta({
        description: `Settings and login of the store, for this program: ${STORE_OPTIONS.map((name) => `\`${name}\``).join(', ')}. Without a login, the machine has one; a volume takes that of \`auth\`.`,
        secret: true,
      }),
    cleanup: z
      .preprocess(
        (value) => value ?? undefined,
        z.enum(['always', 'on_success', 'never']).default('always'),
      )
      .meta({
        description:
          'When an object is removed: after its load, after a load that succeeded, or not.',
      }),
    copy_options: z
      .preprocess(
        (value) => value ?? undefined,
        z.record(z.string().regex(/^\w+$/, 'is no name of an option'), copyOption).default({}),
      )
      .meta({
        description: 'Options of COPY INTO (`COPY_OPTIONS`).',
        examples: [{ mergeSchema: 'true' }],
      }),
  });

export const MOST_STATEMENT_BYTES = 16 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

const sinkFields = z.lazy(() => {
  const {
    table_name: _name,
    column_mapping: _mapping,
    batch_size: _size,
    ...shared
  } = sqlSinkFields();
  return z.strictObject({
    ...connectionFields(),
    table: text()
      .superRefine((table, ctx) => {
        if (isTableName(table)) return;
        const hint = 'write `table`, `schema.table` or `catalog.schema.table`';
        ctx.addIssue(finding('invalid_value', 'this is no name of a table', { hint }));
      })
      .meta({
        description: 'Table to write to: `table`, `schema.table` or `catalog.schema.table`.',
        examples: ['orders', 'main.sales.orders'],
      }),
    ...shared,
    batch_size: batchSize().meta({
      description: 'Records of one statement or object at most; 0: all that are written together.',
    }),
    load_method: z
      .preprocess(
        (value) => value ?? undefined,
        z.enum(['auto', 'insert', 'copy_into']).default('auto'),
      )
      .meta({
        description:
          'How records are added: by INSERT statements, by objects that COPY INTO loads, or (`auto`) by objects where there is `staging` and the records reach `copy_threshold_bytes`.',
      }),
    staging: optional(staging()).meta({
      description: 'Where objects for COPY INTO are written.',
    }),
    copy_threshold_bytes: integer({ min: 0, max: 1024 * MEBIBYTE })
      .default(MEBIBYTE)
      .meta({ description: 'From how many bytes of records on `auto` writes an object.' }),
    max_statement_bytes: integer({ min: 64 * 1024, max: MOST_STATEMENT_BYTES })
      .default(8 * MEBIBYTE)
      .meta({
        description: 'Largest text of a statement; the server takes 16 MiB.',
        advanced: true,
      }),
    poll_interval_ms: integer({ min: 10, max: 3_600_000 }).default(1000).meta({
      description: 'Milliseconds between two looks at a statement that has not ended, at most.',
      advanced: true,
    }),
    max_retries: integer({ min: 0, max: 1000 }).default(5).meta({
      description:
        'Repeats of a request that failed on the way or that the server had no room for. Records that may have been added are not sent again.',
    }),
    retry_backoff_ms: integer({ min: 0, max: 3_600_000 }).default(1000).meta({
      description: 'Milliseconds before the first repeat; each one after it waits twice as long.',
      advanced: true,
    }),
  });
});

export const databricksSinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    const { load_method: method, staging: place, write_mode: mode, table } = config;
    checkSqlSink({ ...config, table_name: table, column_mapping: { kind: 'auto' } }, ctx);
    const issue = (path: (string | number)[], message: string, hint: string): void =>
      ctx.addIssue(finding('invalid_value', message, { path, hint }));
    if (method === 'copy_into' && place === undefined)
      issue(
        ['load_method'],
        '`copy_into` loads objects, and `staging` does not say where they are',
        'set `staging`, or write `load_method: insert`',
      );
    if (method === 'copy_into' && isKeyed(mode))
      issue(
        ['load_method'],
        `COPY INTO only adds rows, and \`write_mode\` is \`${mode}\``,
        'write `load_method: insert`',
      );
    if (place === undefined) return;
    const fault = stagingFault(place);
    if (fault !== undefined) issue(['staging', ...fault.path], fault.message, fault.hint);
  }),
);
export type DatabricksSinkConfig = z.output<typeof sinkFields>;
export type Staging = NonNullable<DatabricksSinkConfig['staging']>;
