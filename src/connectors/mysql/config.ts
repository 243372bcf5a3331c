import { z } from 'zod';
import { batchSize, finding, text } from '../../kit/schema.ts';
import { parseMysqlAddress } from '../../lib/sql/mysql-address.ts';
import { canSweep, checkSqlSink, sqlSinkFields, statementTimeout } from '../_sql/sink-fields.ts';
import {
  bigNumbers,
  connections,
  readTimeout,
  replication,
  scalar,
  shard,
  stateKey,
} from '../_sql/source-fields.ts';
import { addFaults, asErrors } from '../_sql/query-fault.ts';
import { queryFaults } from './read/query.ts';

const connectionUrl = z.lazy(() =>
  text()
    .superRefine((url, ctx) => {
      const address = parseMysqlAddress(url);
      if (!('fault' in address)) return;
      const { fault, hint } = address;
      ctx.addIssue(finding('invalid_value', fault, hint === undefined ? {} : { hint }));
    })
    .meta({
      description:
        'Address of the database: `mysql://user:password@host:port/database`, or the same with `mariadb`; options are `ssl-mode` (`disabled`, `preferred`, `required`, `verify_ca`, `verify_identity`), `ssl-ca`, `ssl-cert` and `ssl-key` (paths of files), `socket`, and `charset` (only `utf8mb4`).',
      examples: ['${env:MYSQL_URL}', 'mysql://reader:secret@db.example/shop?ssl-mode=required'],
      secret: true,
    }),
);

export const mysqlSourceConfig = z.lazy(() =>
  z
    .strictObject({
      connection_url: connectionUrl,
      query: text().meta({
        description:
          'Statement whose rows are the records; `?` stands for the next of `params`, `${row.field}` binds a field of the record, or the fan-out value, of that row, `@bookmark` the last value of the incremental column.',
        examples: ['SELECT id, name FROM customers WHERE region = ?'],
      }),
      params: z
        .preprocess((value) => value ?? undefined, z.array(scalar).default([]))
        .meta({ description: 'Values of the placeholders `?` of the query, in their order.' }),
      max_connections: connections(10, 'Maximum number of open connections; a row uses one.'),
      batch_size: batchSize(),
      shard,
      read_timeout_secs: readTimeout,
      json_big_numbers: bigNumbers,
      replication,
      state_key: stateKey,
    })
    .superRefine(({ query, params, replication: { type } }, ctx) => {
      const how = { incremental: type === 'incremental', params: params.length };
      addFaults(asErrors(queryFaults(query, how)), ctx);
    }),
);
export type MysqlSourceConfig = z.output<typeof mysqlSourceConfig>;

export const mysqlSinkConfig = z.lazy(() =>
  z
    .strictObject({
      connection_url: connectionUrl,
      ...sqlSinkFields(),
      max_connections: connections(5, 'Maximum number of open connections; a row uses one.'),
      statement_timeout_secs: statementTimeout(),
      write_method: z
        .preprocess(
          (value) => value ?? undefined,
          z.enum(['auto', 'insert', 'load']).default('auto'),
        )
        .meta({
          description:
            'Append pages with INSERT statements or with LOAD DATA LOCAL; `auto` loads pages that are large enough, where the server allows it.',
        }),
    })
    .superRefine(checkSqlSink),
);
export type MysqlSinkConfig = z.output<typeof mysqlSinkConfig>;

/** Whether the server refuses the end of a row to an execution that was taken over. */
export function isFenced(config: MysqlSinkConfig): boolean {
  return config.write_mode === 'overwrite' || canSweep(config);
}
