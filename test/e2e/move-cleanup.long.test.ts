/** Rows that vanished at the source go from the destination, but only after a complete read. */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, type Folder } from './folder.ts';

let folder: Folder = makeFolder('cleanup');
const SINK = {
  type: 'sqlite',
  config: {
    database_url: 'sqlite:out.db',
    table_name: 't',
    column_mapping: 'auto_map',
    write_mode: 'upsert',
    key: ['id'],
  },
};

beforeEach(() => {
  folder.remove();
  folder = makeFolder('cleanup');
  const db = new DatabaseSync(join(folder.path, 'out.db'));
  db.exec(
    "CREATE TABLE t (id INTEGER PRIMARY KEY, region TEXT, name TEXT); INSERT INTO t VALUES (1,'eu','a'),(2,'eu','b'),(3,'us','c'),(4,'eu','d')",
  );
  db.close();
});
afterAll(() => folder.remove());

function ids(): number[] {
  const db = new DatabaseSync(join(folder.path, 'out.db'), { readOnly: true });
  const found = db.prepare('SELECT id FROM t ORDER BY id').all();
  db.close();
  return found.map((row) => Number(row['id']));
}

function write(
  records: readonly unknown[],
  more: { scope?: object; pipeline?: object } = {},
): void {
  folder.records('in.jsonl', records);
  const complete_for = { scope: more.scope ?? { region: 'eu' }, on_missing: 'delete' };
  folder.document('doc.yaml', {
    source: { type: 'jsonl', config: { path: 'in.jsonl' }, complete_for },
    sink: SINK,
    ...more.pipeline,
  });
}

describe('after a complete read', () => {
  it('rows inside the scope that were not seen are gone', async () => {
    write([
      { id: 2, region: 'eu', name: 'B' },
      { id: 5, region: 'eu', name: 'new' },
    ]);
    const { code, stderr } = await folder.run(['run', 'doc.yaml']);
    expect(code, stderr).toBe(0);
    expect(ids()).toEqual([2, 3, 5]);
    expect(stderr).toContain('vanished records removed row=row-0 records=2 keys=2');
  });

  it('that gave nothing the scope is empty', async () => {
    write([]);
    expect((await folder.run(['run', 'doc.yaml'])).code).toBe(0);
    expect(ids()).toEqual([3]);
  });

  it('a record that a transform left out counts as vanished', async () => {
    const records = [1, 2, 4].map((id) => ({ id, region: 'eu', name: id === 2 ? 'old' : 'new' }));
    write(records, {
      pipeline: {
        transforms: [{ type: 'filter', config: { path: '$.name', op: 'eq', value: 'new' } }],
      },
    });
    const { code, stderr } = await folder.run(['run', 'doc.yaml']);
    expect(code, stderr).toBe(0);
    expect(ids()).toEqual([1, 3, 4]);
  });

  it('the scope may hold the date of the run', async () => {
    write([{ id: 7, region: '2026-01-31' }], { scope: { region: '${now.date}' } });
    expect((await folder.run(['run', 'doc.yaml', '--clock', '2026-01-31'])).code).toBe(0);
    write([{ id: 8, region: '2026-01-31' }], { scope: { region: '${now.date}' } });
    expect((await folder.run(['run', 'doc.yaml', '--clock', '2026-01-31'])).code).toBe(0);
    expect(ids()).toEqual([1, 2, 3, 4, 8]);
  });
});

describe('nothing is removed', () => {
  it.each([
    ['in a dry run', ['--dry-run']],
    ['in a limited run', ['--limit', '1']],
  ])('%s', async (_when, options) => {
    write([{ id: 2, region: 'eu', name: 'B' }]);
    expect((await folder.run(['run', 'doc.yaml', ...options])).code).toBe(0);
    expect(ids()).toEqual([1, 2, 3, 4]);
  });

  it('by a run that fails', async () => {
    write([{ id: 2, region: 'eu', n: 'x' }], {
      pipeline: { transforms: [{ type: 'cast', config: { fields: { n: 'int' } } }] },
    });
    expect((await folder.run(['run', 'doc.yaml'])).code).toBe(1);
    expect(ids()).toEqual([1, 2, 3, 4]);
  });

  it('by a column that the destination does not have, which fails the run', async () => {
    write([{ id: 2, region: 'eu' }], { scope: { regoin: 'eu' } });
    const { code, stderr } = await folder.run(['run', 'doc.yaml']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('no column `regoin`')]);
    expect(ids()).toEqual([1, 2, 3, 4]);
  });

  it('by a run of more keys than can be kept in mind', async () => {
    write(Array.from({ length: 100_001 }, (_, index) => ({ id: index + 10, region: 'eu' })));
    const { code, stderr } = await folder.run(['run', 'doc.yaml']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('more than 100000 keys')]);
    expect(ids().slice(0, 4)).toEqual([1, 2, 3, 4]);
  });
});
