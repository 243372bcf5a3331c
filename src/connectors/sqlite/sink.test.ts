import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { sqlSinkSuite } from '../../../test/conformance/sql-sink.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { sqliteSink } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'sqlite-sink-'));
const path = join(folder, 'test.db');
const db = new DatabaseSync(path);
let tables = 0;
afterAll(() => db.close());

function query(sql: string): JsonObject[] {
  return db
    .prepare(sql)
    .all()
    .map((row) => Object.fromEntries(Object.entries(row)) as JsonObject);
}

describe('the sqlite sink', () => {
  sqlSinkSuite({
    definition: sqliteSink,
    connection: { database_url: path },
    table: () => `t${(tables += 1)}`,
    exec: async (sql) => db.exec(sql),
    query: async (sql) => query(sql),
  });

  test('booleans are 0 and 1, nested values JSON text, whole numbers INTEGER', async () => {
    const checked = check(sqliteSink.config, {
      database_url: path,
      table_name: 'v',
      column_mapping: 'auto_map',
    });
    if (!checked.ok) throw new Error('config');
    const sink = await sqliteSink.open(checked.value, testContext(folder));
    await sink.write(Page.ofRecords([{ b: true, o: { a: [1] }, n: 7, big: 10n ** 25n }]), {
      partial: false,
    });
    await sink.close();
    expect(query('SELECT *, typeof(n) AS t FROM v')).toEqual([
      { b: 1, o: '{"a":[1]}', n: 7, big: '10000000000000000000000000', t: 'integer' },
    ]);
  });

  test.each([
    ['', 'a column', 'id, n CHECK (n >= 0 AND (n <> 3)) -- CHECK (n > 9)'],
    ['', 'the table', "id, n, /* ) */ CONSTRAINT c CHECK(n >= 0 AND ')' <> n)"],
    ['only at the end ', 'a computed column', 'id, n, m AS (n), CHECK (m >= 0)'],
    ['only at the end ', 'its own name', 'id, n, CHECK ("of its own name".n >= 0)'],
  ])('an overwrite %srefuses what a CHECK of %s refuses', async (when, of, columns) => {
    db.exec(`CREATE TABLE "of ${of}" (${columns}\n)`);
    const table = { table_name: `of ${of}`, column_mapping: 'auto_map', write_mode: 'overwrite' };
    const checked = check(sqliteSink.config, { database_url: path, ...table });
    if (!checked.ok) throw new Error('config');
    const sink = await sqliteSink.open(checked.value, testContext(folder));
    const write = (n: number) => sink.write(Page.ofRecords([{ id: n, n }]), { partial: false });
    await write(1);
    if (when === '') await expect(write(-1)).rejects.toThrow('CHECK constraint failed');
    else {
      await write(-1);
      await expect(sink.finish('success')).rejects.toThrow('CHECK constraint failed');
    }
    await sink.close();
  });

  test('several that write one file in one process take turns', async () => {
    const config = {
      database_url: path,
      table_name: 'shared',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['id'],
      batch_size: 2,
    };
    const checked = check(sqliteSink.config, config);
    if (!checked.ok) throw new Error('config');
    const sinks = await Promise.all(
      [1, 2, 3].map(() => sqliteSink.open(checked.value, testContext(folder))),
    );
    const page = (from: number): Page =>
      Page.ofRecords(Array.from({ length: 10 }, (_, index) => ({ id: from + index })));
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        sinks.map((sink, at) => sink.write(page(at * 100 + round * 10), { partial: false })),
      );
    }
    await Promise.all(sinks.map((sink) => sink.close()));
    expect(query('SELECT count(*) AS n FROM shared')).toEqual([{ n: 150 }]);
  });

  test('whole numbers in a column without a type stay whole', async () => {
    db.exec('CREATE TABLE plain (a, b TEXT)');
    const checked = check(sqliteSink.config, {
      database_url: path,
      table_name: 'plain',
      column_mapping: 'auto_map',
    });
    if (!checked.ok) throw new Error('config');
    const sink = await sqliteSink.open(checked.value, testContext(folder));
    await sink.write(Page.ofRecords([{ a: 1, b: 1 }]), { partial: false });
    await sink.close();
    expect(query('SELECT typeof(a) AS a, b FROM plain')).toEqual([{ a: 'integer', b: '1' }]);
  });

  test('the data set is named by path and table', () => {
    const config = { database_url: 'sqlite://./a.db?mode=rwc', table_name: 't' };
    const checked = check(sqliteSink.config, config);
    expect(checked.ok && sqliteSink.datasetUri(checked.value)).toBe('sqlite://./a.db?table=t');
    // Any number of rows may write into one database: it is no output file that one of them would
    // own.
    expect('localPath' in sqliteSink).toBe(false);
  });

  test('a probe passes where a run would make folders, makes none, and tells where a run cannot', async () => {
    const probe = async (database: string) => {
      const config = { database_url: database, table_name: 't', column_mapping: 'auto_map' };
      const checked = check(sqliteSink.config, config);
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      return (await sqliteSink.probe?.(checked.value, testContext(folder)))?.[0];
    };
    expect(await probe('new/folders/x.db')).toEqual({ name: 'auth', status: 'pass' });
    expect(existsSync(join(folder, 'new'))).toBe(false);
    writeFileSync(join(folder, 'plain'), '');
    expect(await probe('plain/x.db')).toMatchObject({
      status: 'fail',
      reason: expect.stringContaining('is a file, not a folder'),
    });
  });

  test('a probe tells a table that the config cannot write to', async () => {
    const probed = new DatabaseSync(join(folder, 'probed.db'));
    probed.exec('CREATE TABLE t (Id INTEGER PRIMARY KEY)');
    probed.close();
    const probe = async (more: JsonObject): Promise<string | undefined> => {
      const config = { database_url: 'sqlite:probed.db', table_name: 't', ...more };
      const checked = check(sqliteSink.config, config);
      if (!checked.ok) throw new Error('config');
      return (await sqliteSink.probe?.(checked.value, testContext(folder)))?.at(-1)?.reason;
    };
    const keyed = { column_mapping: 'auto_map', write_mode: 'upsert' };
    expect(await probe({ ...keyed, key: ['id'] })).toBeUndefined();
    expect(await probe({ ...keyed, key: ['nr'] })).toContain('no column `nr`');
    expect(await probe({})).toContain('no column `data`');
    expect(await probe({ table_name: 'u', create_table: false })).toContain('no table `u`');
    expect(await probe({ table_name: 'u' })).toBeUndefined();
  });

  test('unknown keys of the config are named', () => {
    const checked = check(sqliteSink.config, { database_url: path, table: 't' });
    expect(!checked.ok && checked.issues.map((issue) => issue.code)).toContain('unknown_key');
  });
});
