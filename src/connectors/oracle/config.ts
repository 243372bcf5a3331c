import { z } from 'zod';
import { batchSize, finding, optional, text } from '../../kit/schema.ts';
import { columnMapping } from '../_sql/column-mapping.ts';
import { addFaults, doubtsAmong, type QueryFault } from '../_sql/query-fault.ts';
import { checkSqlSink, sqlSinkFields } from '../_sql/sink-fields.ts';
import { connections, replication, scalar, shard, stateKey } from '../_sql/source-fields.ts';
import { checkEndpoint, connectionFields, statementTimeout } from './fields.ts';
import { queryFaults } from './read/query.ts';

export const oracleSourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...connectionFields(),
      query: text().meta({
        description:
          'Statement whose rows are the records; `:1` … stand for `params`, `${row.field}` for a value of that row, `{field}` for one of the parent record, `:bookmark` for the last value of the incremental column.',
        examples: ['SELECT id, name FROM customers WHERE region = :1'],
      }),
      params: z
        .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
        .meta({ description: 'Values of `:1` … of the query, in their order.' }),
      max_connections: connections(10, 'Maximum number of open connections; a row uses one.'),
      batch_size: batchSize(),
      statement_timeout_secs: statementTimeout(),
      json_columns: z
        .preprocess((value) => value ?? undefined, z.array(text()).default([]))
        .meta({
          description: 'Columns of texts that hold JSON documents, which become values of records.',
          examples: [['details']],
        }),
      replication,
      state_key: stateKey,
      shard,
    })
    .superRefine((config, ctx) => {
      checkEndpoint(config, ctx);
      addFaults(faultsOf(config), ctx);
    }),
);
export type OracleSourceConfig = z.output<typeof oracleSourceConfig>;

type Query = Pick<OracleSourceConfig, 'query' | 'params' | 'replication'>;

function faultsOf({ query, params, replication: { type } }: Query): QueryFault[] {
  return queryFaults(query, { isIncremental: type === 'incremental', params: params.length });
}

export const queryDoubts = (config: Query) => doubtsAmong(faultsOf(config));

export const oracleSinkConfig = z.lazy(() => {
  const { table_name: _named, ...shared } = sqlSinkFields();
  return z
    .strictObject({
      ...connectionFields(),
      table: optional(text()).meta({
        description:
          'Table to write to; its owner may stand before it (`sales.orders`). Names are read as in statements: without double quotes they mean capital letters.',
        examples: ['customers', 'sales.orders', 'sales."Orders"'],
      }),
      table_name: optional(text()).meta({
        description: 'Another name of `table`.',
        deprecated: true,
      }),
      ...shared,
      // Its documents have no `column_mapping`, whatever they do.
      column_mapping: columnMapping('auto_map'),
      max_connections: connections(5, 'Maximum number of open connections; a row uses one.'),
      statement_timeout_secs: statementTimeout(),
    })
    .superRefine((config, ctx) => {
      checkEndpoint(config, ctx);
      const { table, table_name: named } = config;
      if ((table === undefined) === (named === undefined))
        ctx.addIssue(
          finding('invalid_value', 'give exactly one of `table` and `table_name`', {
            path: ['table'],
          }),
        );
      checkSqlSink({ ...config, table_name: table ?? named ?? '' }, ctx);
    })
    .transform(({ table, table_name: named, ...config }) => ({
      ...config,
      table_name: table ?? named ?? '',
    }));
});
export type OracleSinkConfig = z.output<typeof oracleSinkConfig>;
