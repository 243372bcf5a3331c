import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
import { sqlRollbackSuite } from '../../../test/conformance/sql-rollback.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { postgresSink } from './index.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url, types: { getTypeParser: numbers } });
let tables = 0;

function numbers(oid: number): (text: string) => unknown {
  return [20, 21, 23, 701].includes(oid) ? Number : (text) => text;
}

beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function open(config: JsonObject): Promise<Sink> {
  const checked = check(postgresSink.config, {
    connection_url: database.url,
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return postgresSink.open(checked.value, testContext('/'));
}

describe.each(['insert', 'copy'])(
  'rollback in PostgreSQL what was written by %s',
  (write_method) => {
    sqlRollbackSuite({
      definition: postgresSink,
      connection: { connection_url: database.url, write_method },
      table: () => `t${(tables += 1)}`,
      exec: async (sql) => void (await client.query(sql)),
      query: async (sql) => (await client.query<JsonObject>(sql)).rows,
    });
  },
);

test('values of every type come back as they were, with what the database makes itself', async () => {
  await client.query(`
    CREATE TYPE mood AS ENUM ('good', 'bad');
    CREATE TABLE typed (
      id uuid PRIMARY KEY, place int GENERATED ALWAYS AS IDENTITY, n numeric(20,4), f float8, r real, at timestamptz, day date, span interval,
      plain json, j jsonb, jn jsonb, bytes bytea, list text[], c char(4), m mood, doubled float8 GENERATED ALWAYS AS (f * 2) STORED, _svc_run_id text);
    INSERT INTO typed (id, n, f, r, at, day, span, plain, j, jn, bytes, list, c, m)
    SELECT gen_random_uuid(), 12345678901.5000, 0.1 + g, 'NaN', now(), 'infinity', '1 mon -3 days 04:05:06.789', '{"b": 1,  "a": 1, "a": 2}',
      '{"b": [1, null]}', 'null', '\\x00ff', ARRAY['x', NULL, 'a "b" \\'], 'ab', 'bad' FROM generate_series(1, 20) AS g`);
  const read = async (): Promise<unknown> =>
    (await client.query('SELECT t::text AS row FROM typed AS t ORDER BY 1')).rows;
  const before = await read();
  const { rows } = await client.query<{ id: string }>('SELECT id::text AS id FROM typed');
  const run = { runId: 'r', mode: 'upsert', column: '_svc_run_id' } as const;
  const changed = await open({
    table_name: 'typed',
    write_mode: 'upsert',
    key: ['id'],
    delete_marker: { field: 'op', values: ['d'] },
  });
  await changed.rollback?.record(run);
  const records = rows.map(({ id }, index) => ({
    id,
    n: 1,
    f: 2,
    j: {},
    jn: 1,
    c: 'z',
    _svc_run_id: 'r',
    op: index % 2 === 0 ? 'd' : 'u',
  }));
  await changed.write(Page.ofRecords(records), { partial: false });
  expect(await read()).not.toEqual(before);
  expect(await changed.rollback?.apply({ ...run, dryRun: false, force: false })).toMatchObject({
    applied: true,
    restored: 20,
  });
  await changed.close();
  expect(await read()).toEqual(before);
});

test('of a window that was replaced, only the window comes back', async () => {
  await client.query(
    `CREATE TABLE windowed (day int, n int, _svc_run_id text); INSERT INTO windowed VALUES (1, 1), (2, 2), (2, 3), (3, 4)`,
  );
  const config = {
    table_name: 'windowed',
    write_mode: 'overwrite',
    scope: { window: { column: 'day', from: 2, to: 3 } },
  };
  const read = async (): Promise<unknown> =>
    (await client.query('SELECT day, n FROM windowed ORDER BY 1, 2')).rows;
  const before = await read();
  const sink = await open(config);
  const run = { runId: 'r', mode: 'overwrite', column: '_svc_run_id' } as const;
  await sink.rollback?.record(run);
  await sink.write(Page.ofRecords([{ day: 2, n: 9, _svc_run_id: 'r' }]), { partial: false });
  await sink.finish('success');
  expect(await sink.rollback?.apply({ ...run, dryRun: false, force: false })).toEqual({
    applied: true,
    deleted: 1,
    restored: 2,
    conflicts: 0,
  });
  await sink.close();
  expect(await read()).toEqual(before);
});

test('two rollbacks of one run at the same time roll it back once', async () => {
  const config = { table_name: 'twice' };
  const sink = await open(config);
  const run = { runId: 'r', mode: 'append', column: '_svc_run_id' } as const;
  await sink.write(Page.ofRecords([{ id: 1, _svc_run_id: 'r' }]), { partial: false });
  await sink.flush();
  const results = await Promise.all(
    [1, 2, 3].map(async () => sink.rollback?.apply({ ...run, dryRun: false, force: false })),
  );
  expect(results).toEqual(
    Array.from({ length: 3 }, () => ({ applied: true, deleted: 1, restored: 0, conflicts: 0 })),
  );
  await sink.close();
});
