import { z } from 'zod';
import { batchSize, boolean, finding, optional, text } from '../../kit/schema.ts';
import type { Doubt } from '../../kit/source.ts';
import { checkEndpoint, connectionFields, statementTimeout } from '../_mssql/fields.ts';
import { checkSqlSink, sqlSinkFields } from '../_sql/sink-fields.ts';
import type { ColumnMapping } from '../_sql/column-mapping.ts';
import { connections, replication, scalar, shard, stateKey } from '../_sql/source-fields.ts';
import { addFaults, doubtsAmong, type QueryFault } from '../_sql/query-fault.ts';
import { queryFaults } from './read/query.ts';

export const mssqlSourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...connectionFields(),
      query: text().meta({
        description:
          'Statement whose rows are the records; `@P1` … stand for `params`, `${row.field}` for a value of that row, `{field}` for one of the parent record, `@bookmark` for the last value of the incremental column.',
        examples: ['SELECT id, name FROM dbo.customers WHERE region = @P1'],
      }),
      params: z
        .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
        .meta({ description: 'Values of `@P1` … of the query, in their order.' }),
      max_connections: connections(10, 'Maximum number of open connections; a row uses one.'),
      batch_size: batchSize(),
      statement_timeout_secs: statementTimeout(),
      replication,
      state_key: stateKey,
      shard,
    })
    .superRefine((config, ctx) => {
      checkEndpoint(config, ctx);
      addFaults(faultsOf(config), ctx);
    }),
);
export type MssqlSourceConfig = z.output<typeof mssqlSourceConfig>;

type Query = Pick<MssqlSourceConfig, 'query' | 'params' | 'replication'>;

function faultsOf({ query, params, replication: { type } }: Query): QueryFault[] {
  return queryFaults(query, { isIncremental: type === 'incremental', params: params.length });
}

export const queryDoubts = (config: Query) => doubtsAmong(faultsOf(config));

const DEFAULT_COLUMN = 'data';
const UNKNOWN = ['warn', 'drop', 'error'] as const;

const onUnknown = () =>
  z.enum(UNKNOWN).default('warn').meta({
    description:
      'What to do with a field that has no column: warn and leave it out, leave it out, or fail.',
  });
const column = () =>
  text().default(DEFAULT_COLUMN).meta({ description: 'Column that holds the record.' });

const inColumn = () =>
  z
    .strictObject({ column: column() })
    .meta({ description: 'The whole record as JSON in one column.' });

const mapping = () =>
  z
    .preprocess(
      (value) => value ?? undefined,
      z
        .union([
          z.enum(['auto_columns', 'auto_map', 'json_column', 'json', 'jsonb']),
          z.strictObject({
            type: z
              .enum(['auto_columns', 'auto_map'])
              .meta({ description: 'One column for each field.' }),
            on_unknown_field: onUnknown(),
          }),
          z.strictObject({
            type: z
              .enum(['json_column', 'json', 'jsonb'])
              .meta({ description: 'The whole record as JSON in one column.' }),
            column: column(),
          }),
          z.strictObject({ json: inColumn() }),
          z.strictObject({ jsonb: inColumn() }),
        ])
        .optional(),
    )
    .transform(mappingOf)
    .meta({
      description:
        'How a record becomes a row: `{type: auto_columns}` (also `auto_map`) stores every field in its own column, `{type: json_column, column}` (also `json`) the record in one column (default: `data`).',
      examples: [{ type: 'auto_columns' }, { type: 'json_column', column: 'data' }],
    });

export type MssqlMapping = ColumnMapping & { readonly onUnknown?: (typeof UNKNOWN)[number] };

function mappingOf(written: unknown): MssqlMapping {
  const value = (typeof written === 'string' ? { type: written } : (written ?? {})) as {
    readonly type?: string;
    readonly column?: string;
    readonly json?: { readonly column: string };
    readonly jsonb?: { readonly column: string };
    readonly on_unknown_field?: (typeof UNKNOWN)[number];
  };
  if (value.type === 'auto_columns' || value.type === 'auto_map')
    return { kind: 'auto', onUnknown: value.on_unknown_field ?? 'warn' };
  return { kind: 'json', column: (value.json ?? value.jsonb ?? value).column ?? DEFAULT_COLUMN };
}

const DEFAULT_BATCH = 500;

export const mssqlSinkConfig = z.lazy(() => {
  const { table_name: _named, ...shared } = sqlSinkFields();
  return z
    .strictObject({
      ...connectionFields(),
      table: optional(text()).meta({
        description:
          'Table to write to; a schema may stand before it (`sales.orders`), and names with dots or blanks stand in brackets.',
        examples: ['customers', 'sales.orders'],
      }),
      table_name: optional(text()).meta({
        description: 'Another name of `table`.',
        deprecated: true,
      }),
      ...shared,
      column_mapping: mapping(),
      batch_size: batchSize(DEFAULT_BATCH).meta({
        description: 'Rows of one statement at most; 0: all of a page.',
      }),
      max_connections: connections(5, 'Maximum number of open connections; a row uses one.'),
      transaction_per_batch: boolean().default(true).meta({
        description:
          'A page is always one transaction; `false` changes nothing, and is told as a warning.',
      }),
      isolate_row_failures: boolean().default(true).meta({
        description:
          'Find the rows that the server refuses, for the dead-letter queue; without it they all go there.',
      }),
      statement_timeout_secs: statementTimeout(),
      staging: optional(z.record(z.string(), z.unknown())).meta({
        description: 'Refused: rows are loaded over the connection and not by way of Azure.',
        advanced: true,
      }),
    })
    .superRefine((config, ctx) => {
      checkEndpoint(config, ctx);
      const { table, table_name: named, staging } = config;
      if ((table === undefined) === (named === undefined))
        ctx.addIssue(
          finding('invalid_value', 'give exactly one of `table` and `table_name`', {
            path: ['table'],
          }),
        );
      if (staging !== undefined)
        ctx.addIssue(
          finding('invalid_value', 'loads by way of Azure Blob Storage are not offered', {
            path: ['staging'],
            hint: 'remove the field: large pages are loaded in bulk over the connection',
          }),
        );
      checkSqlSink({ ...config, table_name: table ?? named ?? '' }, ctx);
    })
    .transform(({ table, table_name: named, ...config }) => ({
      ...config,
      table_name: table ?? named ?? '',
    }));
});
export type MssqlSinkConfig = z.output<typeof mssqlSinkConfig>;

export function sinkDoubts({
  transaction_per_batch: isOneTransaction,
}: Pick<MssqlSinkConfig, 'transaction_per_batch'>): readonly Doubt[] {
  if (isOneTransaction) return [];
  return [
    {
      code: 'without_effect',
      path: 'transaction_per_batch',
      message: 'a page is always one transaction: half of it is never left behind',
      hint: 'remove the field',
    },
  ];
}
