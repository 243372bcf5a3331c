import { Client } from 'pg';
import { afterAll } from 'vitest';
import { describeSource } from '../../../test/conformance/source.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { postgresSource } from './index.ts';

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
