import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { postgresSink } from './index.ts';
import { probePostgres } from './probe.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
const user = `reader_${process.pid}`;

beforeAll(async () => {
  await client.connect();
  await client.query(`
    CREATE ROLE ${user} LOGIN PASSWORD 'reader';
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    CREATE TABLE t (id int PRIMARY KEY, name text);
    CREATE TABLE writable (id int PRIMARY KEY, name text);
    CREATE TABLE documents (data jsonb);
    CREATE SCHEMA closed; CREATE TABLE closed.t (id int);
    GRANT SELECT ON t TO ${user};
    GRANT SELECT, INSERT, UPDATE ON writable TO ${user};
    GRANT INSERT ON documents TO ${user};
  `);
});
afterAll(async () => {
  await client.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
  await client.end();
  await database.drop();
});

/** What fails, and what to do about it. */
async function probe(more: JsonObject): Promise<string> {
  const url = new URL(database.url);
  url.username = user;
  url.password = 'reader';
  const config = { connection_url: url.href, column_mapping: 'auto_map', ...more };
  const checked = check(postgresSink.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const findings = await probePostgres(checked.value);
  expect(findings[0]).toEqual({ name: 'auth', status: 'pass' });
  return findings.map(({ reason, hint }) => [reason, hint].filter(Boolean).join(': ')).join('');
}

const upsert = { write_mode: 'upsert', key: ['id'] };

test.each<[JsonObject, string]>([
  [{ table_name: 'writable' }, ''],
  [{ table_name: 'writable', ...upsert }, ''],
  [{ table_name: 'documents', column_mapping: 'jsonb' }, ''],
  [{ table_name: 't' }, 'no right to INSERT on the table `t`: GRANT INSERT ON "t" TO'],
  [
    { table_name: 'writable', ...upsert, delete_marker: { field: 'op', values: ['d'] } },
    'no right to DELETE on the table `writable`',
  ],
  [{ table_name: 'writable', write_mode: 'overwrite' }, 'may not make tables in the schema'],
  [{ table_name: 'new' }, 'may not make tables in the schema `public`: GRANT CREATE ON SCHEMA'],
  [{ table_name: 'new', create_table: false }, 'there is no table `new`'],
  [{ table_name: 'x', schema: 'gone' }, 'there is no schema `gone`: CREATE SCHEMA "gone"'],
  [{ table_name: 't', schema: 'closed' }, 'may not use the schema `closed`: GRANT USAGE'],
  [{ table_name: 'writable', column_mapping: 'jsonb' }, 'has no column `data` for the records'],
  [
    { table_name: 'writable', write_mode: 'upsert', key: ['nr'] },
    'no column `nr`, which `key` names',
  ],
])('a run to %j: %s', async (config, expected) => {
  const told = await probe(config);
  if (expected === '') expect(told).toBe('');
  else expect(told).toContain(expected);
});

test('a failed connection is the only finding', async () => {
  const checked = check(postgresSink.config, {
    connection_url: 'postgres://x@127.0.0.1:1/x',
    table_name: 't',
  });
  expect(checked.ok && (await probePostgres(checked.value))).toMatchObject([
    { name: 'auth', status: 'fail' },
  ]);
});
