import { z } from 'zod';
import { batchSize, finding, optional, text } from '../../kit/schema.ts';
import { postgresUrlFault } from '../../lib/sql/postgres.ts';
import { checkSqlSink, sqlSinkFields, statementTimeout } from '../_sql/sink-fields.ts';
import {
  bigNumbers,
  connections,
  nonNull,
  readTimeout,
  replication,
  scalar,
  shard,
  stateKey,
} from '../_sql/source-fields.ts';
import { queryFaults } from '../_postgres/query.ts';
import { addFaults, asErrors } from '../_sql/query-fault.ts';

const connectionUrl = z.lazy(() =>
  text()
    .superRefine((url, ctx) => {
      const fault = postgresUrlFault(url);
      if (fault !== undefined) ctx.addIssue(finding('invalid_value', fault));
    })
    .meta({
      description: 'Address of the database: `postgres://user:password@host:port/database`.',
      examples: ['${env:DATABASE_URL}'],
      secret: true,
    }),
);

export const postgresSourceConfig = z.lazy(() =>
  z
    .strictObject({
      connection_url: connectionUrl,
      query: text().meta({
        description:
          'Statement whose rows are the records; `$1` … stand for `params`, `${row.field}` binds a field of the record, or the fan-out value, of that row, `${bookmark}` the last value of the incremental column.',
        examples: ['SELECT id, name FROM customers WHERE region = $1'],
      }),
      params: z
        .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
        .meta({ description: 'Values of `$1`, `$2`, … in the query.' }),
      max_connections: connections(10, 'Maximum number of open connections; a row uses one.'),
      batch_size: batchSize(),
      shard,
      read_timeout_secs: readTimeout,
      json_big_numbers: bigNumbers,
      replication,
      state_key: stateKey,
    })
    .superRefine((config, ctx) => {
      const faults = queryFaults(config.query, config.replication.type === 'incremental');
      addFaults(asErrors(faults), ctx);
    }),
);
export type PostgresSourceConfig = z.output<typeof postgresSourceConfig>;

const scope = z.lazy(() =>
  z.strictObject({
    window: z
      .strictObject({
        column: text().meta({ description: 'Column that decides which rows are replaced.' }),
        from: nonNull.meta({ description: 'Lowest value that is replaced.' }),
        to: nonNull.meta({ description: 'First value above the range; it is not replaced.' }),
      })
      .meta({ description: 'Half-open range: `from` belongs to it, `to` does not.' }),
  }),
);

export const postgresSinkConfig = z.lazy(() =>
  z
    .strictObject({
      connection_url: connectionUrl,
      ...sqlSinkFields(),
      schema: optional(text()).meta({
        description: 'Schema of the table; without it the search path decides.',
      }),
      max_connections: connections(5, 'Maximum number of open connections.'),
      statement_timeout_secs: statementTimeout(),
      write_method: z
        .preprocess(
          (value) => value ?? undefined,
          z.enum(['auto', 'insert', 'copy']).default('auto'),
        )
        .meta({
          description:
            'Send rows in INSERT statements or as a COPY stream; `auto` uses COPY for pages that are large enough.',
        }),
      scope: optional(scope).meta({
        description: 'Overwrite only: the part of the table that is replaced.',
      }),
    })
    .superRefine((config, ctx) => {
      checkSqlSink(config, ctx);
      if (config.scope === undefined) return;
      if (config.write_mode !== 'overwrite' || config.column_mapping.kind !== 'auto') {
        const message =
          '`scope` works only with `write_mode: overwrite` and `column_mapping: auto_map`';
        ctx.addIssue(finding('invalid_value', message, { path: ['scope'] }));
      }
    }),
);
export type PostgresSinkConfig = z.output<typeof postgresSinkConfig>;
