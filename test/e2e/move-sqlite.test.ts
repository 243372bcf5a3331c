/**
 * SQLite as a destination, through the program: write modes, keys, mappings, and what a failure
 * leaves behind.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, linesOf, type Folder } from './folder.ts';

let folder: Folder;
// For each try of a test: some files are added to.
beforeEach(() => {
  folder = makeFolder('sqlite');
});
afterEach(() => folder.remove());

interface Step {
  readonly id: string;
  readonly records: readonly unknown[];
  readonly config: object;
  readonly source?: object;
}

interface RowReport {
  readonly row_id: string;
  readonly status: string;
  readonly error?: string;
  readonly rows_out: number;
}

/** Runs the steps one after the other as rows of one document. */
async function steps(
  name: string,
  list: readonly Step[],
  pipeline: object = {},
): Promise<Map<string, RowReport>> {
  for (const { id, records } of list) folder.records(`${name}-${id}.jsonl`, records);
  const matrix = list.map(({ id, config, source }) => ({
    id,
    source: { config: { path: `${name}-${id}.jsonl`, ...source } },
    sink: { config },
  }));
  const sink = {
    type: 'sqlite',
    config: { database_url: `sqlite:${name}.db`, column_mapping: 'auto_map' },
  };
  folder.document(
    `${name}.json`,
    { source: { type: 'jsonl' }, sink, ...pipeline },
    { matrix, execution: { max_concurrent: 1 } },
  );
  const { stdout, stderr } = await folder.run([
    'run',
    `${name}.json`,
    '--output',
    'ndjson',
    '--log-level',
    'warn',
  ]);
  if (stdout === '') throw new Error(stderr);
  return new Map((linesOf(stdout) as RowReport[]).map((row) => [row.row_id, row]));
}

function table(database: string, query: string): unknown[] {
  using connection = new DatabaseSync(join(folder.path, `${database}.db`), {
    readOnly: true,
    readBigInts: false,
  });
  return connection
    .prepare(query)
    .all()
    .map((row) => ({ ...row }));
}

describe('write modes', () => {
  it('append adds, and takes the columns of the first page', async () => {
    const config = { table_name: 'a' };
    const reports = await steps('append', [
      {
        id: 'first',
        config,
        records: [{ id: 1, n: 'x', ok: true, deep: { a: [1] }, none: null, f: 1.5 }],
      },
      { id: 'second', config, records: [{ id: 1, n: 'y', extra: 'ignored' }, { id: 2 }] },
    ]);
    expect([...reports.values()].map(({ status, rows_out }) => [status, rows_out])).toEqual([
      ['ok', 1],
      ['ok', 2],
    ]);
    expect(table('append', 'select id, n, ok, deep, f from a order by rowid')).toEqual([
      { id: 1, n: 'x', ok: 1, deep: '{"a":[1]}', f: 1.5 },
      { id: 1, n: 'y', ok: null, deep: null, f: null },
      { id: 2, n: null, ok: null, deep: null, f: null },
    ]);
  });

  it('upsert keeps the last record of a key, within a page and over runs', async () => {
    const config = { table_name: 'u', write_mode: 'upsert', key: ['id'] };
    await steps('upsert', [
      {
        id: 'first',
        config,
        records: [
          { id: 1, n: 'old' },
          { id: 2, n: 'kept' },
        ],
      },
      {
        id: 'second',
        config,
        records: [
          { id: 1, n: 'x' },
          { id: 3, n: 'new' },
          { id: 1, n: 'last' },
        ],
      },
    ]);
    expect(table('upsert', 'select id, n from u order by id')).toEqual([
      { id: 1, n: 'last' },
      { id: 2, n: 'kept' },
      { id: 3, n: 'new' },
    ]);
  });

  it('delete removes by key', async () => {
    await steps('delete', [
      {
        id: 'first',
        config: { table_name: 'd', write_mode: 'upsert', key: ['id'] },
        records: [
          { id: 1, n: 'a' },
          { id: 2, n: 'b' },
        ],
      },
      {
        id: 'second',
        config: { table_name: 'd', write_mode: 'delete', key: ['id'] },
        records: [{ id: 1 }, { id: 9 }],
      },
    ]);
    expect(table('delete', 'select id, n from d')).toEqual([{ id: 2, n: 'b' }]);
  });

  it('delete_marker turns records into deletes and is no column', async () => {
    const config = {
      table_name: 'm',
      write_mode: 'upsert',
      key: ['id'],
      delete_marker: { field: '__op', values: ['d'] },
    };
    await steps('marker', [
      {
        id: 'first',
        config,
        records: [
          { id: 1, n: 'a', __op: 'u' },
          { id: 2, n: 'b', __op: 'u' },
        ],
      },
      {
        id: 'second',
        config,
        records: [
          { id: 1, __op: 'd' },
          { id: 3, n: 'c', __op: 'u' },
          { id: 3, __op: 'd' },
          { id: 2, __op: 'd' },
          { id: 2, n: 'back', __op: 'u' },
        ],
      },
    ]);
    expect(table('marker', 'select * from m order by id')).toEqual([{ id: 2, n: 'back' }]);
  });

  it('overwrite replaces everything, also with nothing', async () => {
    const config = { table_name: 'o', write_mode: 'overwrite' };
    await steps('overwrite', [{ id: 'first', config, records: [{ id: 1 }, { id: 2 }] }]);
    await steps('overwrite', [{ id: 'second', config, records: [{ id: 3 }] }]);
    expect(table('overwrite', 'select id from o')).toEqual([{ id: 3 }]);
    await steps('overwrite', [{ id: 'empty', config, records: [] }]);
    expect(table('overwrite', 'select id from o')).toEqual([]);
  });

  it('an overwrite that fails leaves the table as it was, and nothing beside it', async () => {
    const config = { table_name: 'o', write_mode: 'overwrite' };
    await steps('broken', [{ id: 'first', config, records: [{ id: 1 }, { id: 2 }] }]);
    folder.write('broken-torn.jsonl', '{"id":7}\n{"id":8}\nnot json\n');
    folder.document('torn.json', {
      source: { type: 'jsonl', config: { path: 'broken-torn.jsonl', batch_size: 1 } },
      sink: {
        type: 'sqlite',
        config: { database_url: 'sqlite:broken.db', column_mapping: 'auto_map', ...config },
      },
    });
    const { code, stderr } = await folder.run(['run', 'torn.json', '--quiet']);
    expect(code).toBe(1);
    expect(stderr).toContain('line 3 of broken-torn.jsonl is not JSON');
    expect(table('broken', 'select id from o order by id')).toEqual([{ id: 1 }, { id: 2 }]);
    expect(table('broken', "select name from sqlite_master where type = 'table'")).toEqual([
      { name: 'o' },
    ]);
  });
});

describe('records without a key', () => {
  const config = { table_name: 'k', write_mode: 'upsert', key: ['id'] };
  const records = [
    { id: 1, n: 'a' },
    { n: 'no key' },
    { id: null, n: 'null key' },
    { id: 2, n: 'b' },
  ];

  it('fail the page when there is no dead-letter queue', async () => {
    const reports = await steps('keyless', [{ id: 'only', config, records }]);
    expect(reports.get('only')?.status).toBe('error');
    expect(reports.get('only')?.error).toContain('id');
  });

  it('go to the dead-letter queue and let the others through', async () => {
    const dlq = { sink: { type: 'jsonl', config: { path: 'keyed.dlq.jsonl' } } };
    const reports = await steps('keyed', [{ id: 'only', config, records }], { dlq });
    expect(reports.get('only')).toMatchObject({ status: 'ok', rows_out: 2, dlq_count: 2 });
    expect(table('keyed', 'select id, n from k order by id')).toEqual([
      { id: 1, n: 'a' },
      { id: 2, n: 'b' },
    ]);
    expect(folder.lines('keyed.dlq.jsonl')).toEqual(
      [1, 2].map((index) => ({
        error: { kind: 'Sink', message: expect.stringContaining('id') as string },
        reason: 'partial',
        payload: records[index],
        ts_ms: expect.any(Number) as number,
        sink: 'sqlite',
        pipeline: 'sqlite',
        row: 'only',
        record_index: index,
        record_number: index + 1,
      })),
    );
  });
});

describe('column mapping', () => {
  it.each([
    ['json', { json: { column: 'doc' } }],
    ['tolerant', { type: 'json', column: 'doc' }],
  ])('keeps whole records in one JSON column (%s spelling)', async (name, column_mapping) => {
    const records = [{ id: 1, n: 'ü' }, 'a string', null];
    await steps(name, [{ id: 'only', config: { table_name: 'j', column_mapping }, records }]);
    expect(
      table(name, 'select doc from j order by rowid').map(
        (row) => JSON.parse((row as { doc: string }).doc) as unknown,
      ),
    ).toEqual(records);
  });
});
