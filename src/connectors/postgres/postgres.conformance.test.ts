import { Client } from 'pg';
import { afterAll } from 'vitest';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { postgresSink, postgresSource } from './index.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();
await client.query(
  "CREATE TABLE people AS SELECT i AS id, 'n' || i AS name FROM generate_series(1, 24) AS i",
);
const records = Array.from({ length: 24 }, (_, index) => ({
  id: index + 1,
  name: `n${index + 1}`,
}));
const wrong = new URL(database.url);
wrong.password = 'not-the-password';
let tables = 0;

afterAll(async () => {
  await client.end();
  await database.drop();
});

const base = { connection_url: database.url, query: 'SELECT * FROM people ORDER BY id' };
const broken = {
  'a wrong password': { ...base, connection_url: wrong.href },
  'a table that is not there': { ...base, query: 'SELECT * FROM nobody' },
};

describeSource(postgresSource, { config: () => base, records, broken, secret: 'not-the-password' });

describeSource(postgresSource, {
  config: () => ({ ...base, replication: { type: 'incremental', column: 'id', initial_value: 1 } }),
  records,
  broken,
  secret: 'not-the-password',
  overlap: {
    because: 'a limit hides whether records of the same value follow',
    allows: (repeated) => repeated.length === 1,
  },
});

for (const write_method of ['insert', 'copy', 'auto']) {
  describeSink(postgresSink, {
    async fresh() {
      const schema = `s${(tables += 1)}`;
      const table = `${schema}.t`;
      await client.query(`CREATE SCHEMA ${schema}`);
      return {
        config: {
          connection_url: database.url,
          schema,
          table_name: 't',
          column_mapping: 'auto_map',
          write_method,
        },
        rows: async () => {
          const found = await client.query<{ there: boolean }>(
            'SELECT to_regclass($1) IS NOT NULL AS there',
            [table],
          );
          if (found.rows[0]?.there !== true) return undefined;
          const { rows } = await client.query<{ row: JsonObject }>(
            `SELECT to_jsonb(t) AS row FROM ${table} AS t`,
          );
          return rows.map(({ row }) => row);
        },
      };
    },
    broken: { 'a wrong password': { connection_url: wrong.href, table_name: 't' } },
    secret: 'not-the-password',
  });
}
