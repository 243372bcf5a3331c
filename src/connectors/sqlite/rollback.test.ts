import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/text/json.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { sqlRollbackSuite } from '../../../test/conformance/sql-rollback.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { sqliteSink } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-rollback-'));
const database_url = `sqlite:${join(folder, 'data.db')}`;
const db = new DatabaseSync(join(folder, 'data.db'), { timeout: 5000 });
let tables = 0;
afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('rollback in SQLite', () => {
  sqlRollbackSuite({
    definition: sqliteSink,
    connection: { database_url },
    table: () => `t${(tables += 1)}`,
    exec: (sql) => Promise.resolve(db.exec(sql)),
    query: (sql) =>
      Promise.resolve(
        db
          .prepare(sql)
          .all()
          .map((row) => ({ ...row }) as JsonObject),
      ),
  });

  test('values of every storage class come back as they were', async () => {
    db.exec('CREATE TABLE classes (id PRIMARY KEY, v, _svc_run_id)');
    const insert = db.prepare('INSERT INTO classes (id, v) VALUES (?, ?)');
    const values = [
      0.1 + 0.2,
      1e300,
      -0,
      9_223_372_036_854_775_807n,
      new Uint8Array([0, 255]),
      'a\0b',
      '',
      null,
      Number.POSITIVE_INFINITY,
      'ü€😀',
    ];
    values.forEach((value, index) => insert.run(`k${index}`, value));
    insert.run(1.5, 'a number as a key');
    const read = (): unknown => {
      const statement = db.prepare(
        'SELECT id, v, typeof(v) AS kind, hex(v) AS bytes, _svc_run_id FROM classes ORDER BY 1',
      );
      statement.setReadBigInts(true);
      return statement.all();
    };
    const before = read();
    const checked = check(sqliteSink.config, {
      database_url,
      column_mapping: 'auto_map',
      table_name: 'classes',
      write_mode: 'upsert',
      key: ['id'],
    });
    if (!checked.ok) throw new Error('the config is wrong');
    const sink = await sqliteSink.open(checked.value, testContext('/'));
    await sink.rollback?.record({ runId: 'r', mode: 'upsert', column: '_svc_run_id' });
    const ids = [...values.map((_, index) => `k${index}`), 1.5];
    await sink.write(Page.ofRecords(ids.map((id) => ({ id, v: 'changed', _svc_run_id: 'r' }))), {
      partial: false,
    });
    expect(read()).not.toEqual(before);
    await sink.rollback?.apply({
      runId: 'r',
      mode: 'upsert',
      column: '_svc_run_id',
      dryRun: false,
      force: false,
    });
    await sink.close();
    expect(read()).toEqual(before);
  });
});
