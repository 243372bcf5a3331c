import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { told, verifyTree } from '../../../test/fakes/verify.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

function moving(from: string, to: string, verify: JsonObject, sink: JsonObject = {}): JsonObject {
  const connection = { connection_url: database.url };
  return {
    verify,
    pipeline: {
      source: { type: 'postgres', config: { ...connection, query: `SELECT * FROM ${from};` } },
      sink: {
        type: 'postgres',
        config: { ...connection, table_name: to, column_mapping: 'auto_map', ...sink },
      },
    },
  };
}

const ROWS = `SELECT i::bigint AS id, 'n' || i % 7 AS name, (i * 1.5)::numeric(12,2) AS amount, i % 2 = 0 AS even,
  timestamptz '2026-01-01' + i * interval '1 minute' AS at, jsonb_build_object('b', i, 'a', ARRAY[i]) AS extra
  FROM generate_series(1, 5000) AS i`;

describe('a comparison of two PostgreSQL tables', { timeout: 60_000 }, () => {
  it('is made by the server where both have one integer key, and reads only what differs', async () => {
    await client.query(`CREATE TABLE src AS ${ROWS}; CREATE TABLE dst AS ${ROWS}`);
    const document = moving('src', 'dst', { key: ['id'], leaf_rows: 50 });
    const equal = await verifyTree(document);
    expect(equal).toMatchObject({
      strategy: 'range',
      server_digests: true,
      differences: [],
      ranges_compared: 16,
      ranges_differing: 0,
    });
    expect([equal.rows_fetched_source, equal.rows_fetched_dest]).toEqual([0, 0]);

    await client.query(`
      UPDATE dst SET name = 'x', amount = 0 WHERE id = 17; UPDATE dst SET even = NULL WHERE id = 4000;
      DELETE FROM dst WHERE id = 18; INSERT INTO dst (id) VALUES (6000), (-1), (NULL); INSERT INTO dst SELECT * FROM dst WHERE id = 2500`);
    const report = await verifyTree(document);
    expect(told(report.differences)).toEqual([
      'changed {"id":17} amount+name',
      'changed {"id":4000} even',
      'duplicate {"id":2500} destination2',
      'extra_in_dest {"id":-1} ',
      'extra_in_dest {"id":6000} ',
      'extra_in_dest {"id":null} ',
      'missing_in_dest {"id":18} ',
    ]);
    expect(report.rows_fetched_source).toBeLessThan(1000);
  });

  it('takes no difference for one that the type of a column cannot hold', async () => {
    const uuid = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
    await client.query(`
      CREATE TABLE spelled AS SELECT '${uuid}'::text AS id, '{"b": 1, "a": [2]}'::text AS doc, 'yes'::text AS yes, 'ab'::text AS code;
      CREATE TABLE typed (id uuid PRIMARY KEY, doc jsonb, yes boolean, code char(5));
      INSERT INTO typed SELECT id::uuid, doc::jsonb, yes::boolean, code FROM spelled`);
    const document = moving('spelled', 'typed', { key: ['id'] });
    expect((await verifyTree(document)).differences).toEqual([]);
    await client.query(`UPDATE typed SET doc = '{"a": [3], "b": 1}', yes = false, code = 'abc'`);
    expect(told((await verifyTree(document)).differences)).toEqual([
      `changed {"id":"${uuid}"} code+doc+yes`,
    ]);
  });

  it('finds two rows that changed places: their values stay the same, taken together', async () => {
    await client.query(`CREATE TABLE pair (id int, v text); INSERT INTO pair VALUES (1, 'a'), (2, 'b');
      CREATE TABLE swapped (id int, v text); INSERT INTO swapped VALUES (2, 'a'), (1, 'b')`);
    const report = await verifyTree(
      moving('pair', 'swapped', { key: ['id'], ranges: 1, leaf_rows: 1 }),
    );
    expect(told(report.differences)).toEqual(['changed {"id":1} v', 'changed {"id":2} v']);
  });

  it('sees equal values in columns of other types', async () => {
    await client.query(`
      CREATE TABLE loose (id int, n numeric(10,3), at text, name varchar(20), j json);
      INSERT INTO loose SELECT i, i, to_char(timestamptz '2026-01-01' + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"+02:00"'), 'n' || i, '{"b":1,"a":2}'
        FROM generate_series(1, 300) AS i;
      CREATE TABLE strict (id bigint, n bigint, at timestamptz, name text, j jsonb);
      INSERT INTO strict SELECT id, n, at::timestamptz, name, j::jsonb FROM loose;
      CREATE TABLE scaled AS SELECT id::bigint, n::numeric(20,6), name::text, j::jsonb FROM loose;
      ALTER TABLE loose DROP COLUMN IF EXISTS unused;`);
    const other = await verifyTree(moving('loose', 'strict', { key: ['id'] }));
    expect(other).toMatchObject({ differences: [], strategy: 'range', server_digests: false });
    const same = await verifyTree(
      moving('(SELECT id, n, name, j FROM loose) AS part', 'scaled', { key: ['id'] }),
    );
    expect(same).toMatchObject({ differences: [], server_digests: true, rows_fetched_source: 0 });
  });

  it('is repaired through the sink, also by a key of two fields', async () => {
    await client.query(`
      CREATE TABLE stock (shop int, item text, n int); INSERT INTO stock SELECT i % 3, 'i' || i, i FROM generate_series(1, 200) AS i;
      CREATE TABLE copied (shop int, item text, n int, PRIMARY KEY (shop, item)); INSERT INTO copied SELECT * FROM stock WHERE n > 5;
      UPDATE copied SET n = -1 WHERE n = 100; INSERT INTO copied VALUES (7, 'none', 1)`);
    const document = moving('stock', 'copied', {}, { write_mode: 'upsert', key: ['shop', 'item'] });
    const dry = await verifyTree(document, { repair: true, allowDelete: true, dryRun: true });
    expect(dry).toMatchObject({
      strategy: 'full',
      repaired_upserts: 6,
      repaired_deletes: 1,
      dry_run: true,
    });
    const kept = await verifyTree(document, { repair: true });
    expect(kept).toMatchObject({ repaired_upserts: 6, repaired_deletes: 0 });
    expect(told((await verifyTree(document)).differences)).toEqual([
      'extra_in_dest {"shop":7,"item":"none"} ',
    ]);
    expect(await verifyTree(document, { repair: true, allowDelete: true })).toMatchObject({
      repaired_upserts: 0,
      repaired_deletes: 1,
    });
    expect((await verifyTree(document)).differences).toEqual([]);
  });

  it('stops when it has read as much as it may, and says so', async () => {
    const document = moving('stock', 'nothing_yet', {
      key: ['shop', 'item'],
      max_rows_scanned: 50,
    });
    expect(await verifyTree(document)).toMatchObject({ truncated: true, rows_fetched_source: 50 });
    const few = await verifyTree(moving('stock', 'nothing_yet', { key: ['shop', 'item'] }), {
      maxDifferences: 3,
    });
    expect([few.truncated, few.differences.length]).toEqual([true, 3]);
  });
});
