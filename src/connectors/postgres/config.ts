import { z } from 'zod';
import { batchSize, finding, integer, optional, text } from '../../kit/schema.ts';
import { postgresUrlFault } from '../../lib/sql/postgres.ts';
import { checkSqlSink, sqlSinkFields } from '../_sql/sink-fields.ts';
import { queryFaults } from './read/query.ts';

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

function connections(fallback: number, description: string) {
  return integer({ min: 1, max: 1000 }).default(fallback).meta({ description, advanced: true });
}

const nonNull = z.lazy(() => z.union([z.string(), z.number(), z.bigint(), z.boolean()]));
const scalar = z.lazy(() => z.union([nonNull, z.null()]));

const shard = z.lazy(() =>
  optional(
    z.strictObject({ key: text().meta({ description: 'Integer column of the result.' }) }),
  ).meta({
    description:
      'The column by whose ranges the result is read when the document asks for shards (`shard: {count}`).',
    examples: [{ key: 'id' }],
    advanced: true,
  }),
);

const replication = z.lazy(() =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? { type: value } : (value ?? undefined)),
      z
        .discriminatedUnion('type', [
          z.strictObject({
            type: z.literal('full').meta({ description: 'The whole result every time.' }),
          }),
          z.strictObject({
            type: z
              .literal('incremental')
              .meta({ description: 'Only rows beyond the last value of a column.' }),
            column: text().meta({
              description: 'Column of the result whose values only increase.',
            }),
            initial_value: nonNull.meta({
              description: 'Where the first run starts (rows with this value are read).',
            }),
          }),
        ])
        .default({ type: 'full' }),
    )
    .meta({ description: 'Whether a run reads everything or continues after the last run.' }),
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
      read_timeout_secs: integer({ min: 0, max: 2_000_000 }).default(3600).meta({
        description: 'Longest wait for the next rows of the result; 0 waits forever.',
        advanced: true,
      }),
      json_big_numbers: z.enum(['fail', 'string']).default('fail').meta({
        description:
          'What to do with a number inside a JSON column that cannot be held exactly: fail, or use its digits as text.',
        advanced: true,
      }),
      replication,
      state_key: optional(text()).meta({
        description:
          'Name of the bookmark for programs that use the connector alone; in a pipeline the key is `{pipeline}::{row}`.',
        advanced: true,
      }),
    })
    .superRefine((config, ctx) => {
      for (const fault of queryFaults(config.query, config.replication.type === 'incremental')) {
        ctx.addIssue(
          finding('invalid_value', fault.message, { path: ['query'], hint: fault.hint }),
        );
      }
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
