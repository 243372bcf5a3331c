import { z } from 'zod';
import { batchSize, boolean, integer, nullAsAbsent, optional, text } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import { googleAuth, type GoogleAuth } from '../_google/account.ts';
import { checkPlace, emulatorHost } from '../_google/place.ts';
import { connections, replication, scalar, shard, stateKey } from '../_sql/source-fields.ts';
import { addFaults, doubtsAmong } from '../_sql/query-fault.ts';
import { queryFaults } from './read/query.ts';

const named = (what: string) => text().regex(/^[\w.:${}-]+$/, `is no id of ${what}`);

const connectionFields = () => ({
  project_id: named('a project').meta({
    description: 'Project of the instance.',
    examples: ['my-project'],
  }),
  instance: named('an instance').meta({ description: 'Id of the instance.', examples: ['main'] }),
  database: named('a database').meta({ description: 'Id of the database.', examples: ['shop'] }),
  auth: nullAsAbsent(
    googleAuth('Nobody: for an emulator, whose address is `emulator_host`.').default({
      type: 'application_default',
    }),
  ).meta({ description: 'Who asks.' }),
  max_sessions: connections(100, 'Sessions open at the same time at most; a row uses one.'),
  emulator_host: emulatorHost('localhost:9010'),
});

export interface Connection {
  readonly project_id: string;
  readonly instance: string;
  readonly database: string;
  readonly auth: GoogleAuth;
  readonly max_sessions: number;
  readonly emulator_host?: string | undefined;
}

const checkConnection = (config: Connection, ctx: z.RefinementCtx): void =>
  checkPlace(config, { auth: config.auth, field: 'auth' }, ctx);

/** Spanner keeps old versions of rows for a week at most. */
const OLDEST_SECS = 7 * 24 * 3600;

const sourceFields = z.lazy(() =>
  z
    .strictObject({
      ...connectionFields(),
      query: text().meta({
        description:
          'Statement in GoogleSQL whose rows are the records; `@name` stands for a value of `params`, `{field}` for a value of the parent record, `${row.field}` for one of that row, `@bookmark` for the last value of the incremental column. All are bound as parameters.',
        examples: ['SELECT id, name FROM customers WHERE region = @region'],
      }),
      params: z
        .preprocess((value) => value ?? undefined, z.record(z.string(), scalar).default({}))
        .meta({
          description: 'Values of the parameters of the query, by name.',
          examples: [{ region: 'eu' }],
        }),
      batch_size: batchSize(),
      exact_staleness_secs: optional(integer({ min: 0, max: OLDEST_SECS })).meta({
        description:
          'Read the data as it was so many seconds ago, which takes no locks and can be answered by the nearest copy; the newest data when absent.',
      }),
      replication,
      state_key: stateKey,
      shard,
    })
    .superRefine((config, ctx) => {
      checkConnection(config, ctx);
      addFaults(faultsOf(config), ctx);
    }),
);
export const spannerSourceConfig = sourceFields;
export type SpannerSourceConfig = z.output<typeof sourceFields>;

type Query = Pick<SpannerSourceConfig, 'query' | 'params' | 'replication'>;

function faultsOf({ query, params, replication: { type } }: Query) {
  return queryFaults(query, { params: Object.keys(params), isIncremental: type === 'incremental' });
}

export const queryDoubts = (config: Query) => doubtsAmong(faultsOf(config));

const sinkFields = z.lazy(() =>
  z.strictObject({
    ...connectionFields(),
    table_name: text().meta({
      description: 'Table to write to; a schema may stand before it (`sales.orders`).',
      examples: ['customers'],
    }),
    batch_size: batchSize().meta({
      description:
        'Records of one commit at most; 0: all of a page. A commit has at most 60,000 values: with 0, and for exactly-once delivery, a larger page is refused; else it is divided.',
    }),
    create_table: boolean().default(true).meta({
      description:
        'Create the table when it does not exist: its columns are taken from the first page and may be null; `key` becomes the primary key, without which Spanner has no table.',
    }),
    ddl_timeout_secs: integer({ min: 1, max: 86_400 }).default(300).meta({
      description: 'Longest wait for a change of the schema, such as a new table or column.',
      advanced: true,
    }),
    on_rounding: optional(z.enum(['warn', 'error'])).meta({
      description:
        'What to do with a value that its column does not hold exactly, such as one with ten decimal places in `NUMERIC`: write it rounded, warn and count it in the receipt (`warn`), or fail the run (`error`).',
    }),
    ...writeFields(['append', 'upsert', 'delete']),
  }),
);

export const spannerSinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    checkConnection(config, ctx);
    checkWriteFields(config, ctx);
  }),
);
export type SpannerSinkConfig = z.output<typeof sinkFields>;
