/**
 * Rows that run several times, through the program: tuples of listed values, and chunks of a range.
 * Nothing is lost, nothing comes twice.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import { freshDatabase } from '../servers/postgres.ts';
import { linesOf, makeFolder, type Folder } from './folder.ts';

let folder: Folder;
beforeAll(() => {
  folder = makeFolder('fan-out');
  using database = new DatabaseSync(join(folder.path, 'shop.db'));
  database.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, region TEXT, day TEXT)');
  const insert = database.prepare('INSERT INTO orders VALUES (?, ?, ?)');
  const regions = ['eu', 'us', "it's"];
  for (let id = 1; id <= 1000; id += 1)
    insert.run(id, regions[id % 3] ?? '', `2026-03-${String(28 + (id % 3))}`);
});
afterAll(() => folder.remove());

interface Row {
  readonly row_id: string;
  readonly parent_key?: string;
  readonly status: string;
  readonly rows_out: number;
  readonly error?: string;
}

async function run(
  document: string,
  ...options: readonly string[]
): Promise<{ code: number; rows: Row[]; stderr: string }> {
  const { stdout, stderr, code } = await folder.run([
    'run',
    document,
    '--output',
    'ndjson',
    '--log-level',
    'error',
    ...options,
  ]);
  return { code: code ?? -1, rows: linesOf(stdout) as Row[], stderr };
}

const idsIn = (file: string): number[] =>
  (folder.lines(file) as { id: number }[]).map(({ id }) => id);
const shop = (query: string) => ({
  type: 'sqlite',
  config: { database_url: 'sqlite:shop.db', query },
});

describe('tuples', () => {
  const regions = {
    id: 'regions',
    fan_out: {
      source: shop('SELECT region AS code FROM orders UNION ALL SELECT NULL'),
      select: '$.code',
      as: 'code',
    },
  };

  it('each move their share, with values that never become SQL text', async () => {
    folder.records('days.jsonl', [
      { day: '2026-03-28' },
      { day: '2026-03-29' },
      { day: '2026-03-30' },
      { day: '2026-03-28' },
    ]);
    const days = {
      id: 'days',
      discover: {
        source: { type: 'jsonl', config: { path: 'days.jsonl' } },
        select: 'day',
        as: 'day',
      },
    };
    const sales = {
      id: 'sales',
      for_each: ['regions', 'days'],
      source: {
        config: {
          query: "SELECT id FROM orders WHERE region = '${regions.code}' AND day = ${days.day}",
        },
      },
      sink: { config: { path: 'sales-${regions.code}-${days.day}.jsonl' } },
    };
    folder.document(
      'tuples.json',
      { source: shop('unused'), sink: { type: 'jsonl', config: {} } },
      { matrix: [sales, regions, days] },
    );
    const { code, rows } = await run('tuples.json');
    expect(code).toBe(0);
    const moved = rows.filter((row) => row.row_id === 'sales');
    expect(moved).toHaveLength(9);
    expect(moved.filter((row) => row.rows_out > 0).map((row) => row.parent_key)).toEqual([
      'code=us&day=2026-03-29',
      "code=it's&day=2026-03-30",
      'code=eu&day=2026-03-28',
    ]);
    expect(moved.reduce((sum, row) => sum + row.rows_out, 0)).toBe(1000);
    expect(idsIn("sales-it's-2026-03-30.jsonl")[0]).toBe(2);
  });

  it('get the lists that were collected for them', async () => {
    const ids = {
      id: 'ids',
      for_each: ['regions'],
      collect: true,
      fan_out: {
        source: shop("SELECT id FROM orders WHERE region = '${regions.code}' AND id <= 6"),
        select: 'id',
        as: 'all',
      },
    };
    const told = {
      id: 'told',
      for_each: ['regions'],
      source: { config: { query: "SELECT '${regions.code}' AS region, '${ids.all}' AS ids" } },
      sink: { config: { path: 'told.jsonl', append: true } },
    };
    folder.document(
      'collect.json',
      { source: shop('unused'), sink: { type: 'jsonl', config: {} } },
      { matrix: [told, ids, regions] },
    );
    expect((await run('collect.json')).code).toBe(0);
    const lines = folder.lines('told.jsonl') as { region: string; ids: string }[];
    expect(new Map(lines.map(({ region, ids: list }) => [region, list]))).toEqual(
      new Map([
        ['us', '1,4'],
        ["it's", '2,5'],
        ['eu', '3,6'],
      ]),
    );
  });

  it('are too many before the first of them writes anything', async () => {
    const numbers = (id: string) => ({
      id,
      fan_out: { source: shop('SELECT id FROM orders LIMIT 101'), select: 'id', as: 'n' },
    });
    const row = {
      id: 'row',
      for_each: ['one', 'other'],
      source: { config: { query: 'SELECT ${one.n} AS a, ${other.n} AS b' } },
      sink: { config: { path: 'many/${one.n}-${other.n}.jsonl' } },
    };
    folder.document(
      'many.json',
      { source: shop('unused'), sink: { type: 'jsonl', config: {} } },
      { matrix: [numbers('one'), numbers('other'), row] },
    );
    const { code, rows } = await run('many.json');
    expect(code).not.toBe(0);
    expect(rows.find((one) => one.row_id === 'row')?.error).toContain('10201 times');
    expect(() => folder.text('many/1-1.jsonl')).toThrow('ENOENT');
  });
});

describe('chunks', () => {
  const all = Array.from({ length: 1000 }, (_, index) => index + 1);
  const byId = shop(
    'SELECT * FROM orders WHERE id BETWEEN ${partition.start} AND ${partition.end}',
  );

  it('of a key range read every row of a SQLite table once, two at a time, into files of their own', async () => {
    const probe = { from_source: shop('SELECT max(id) AS top FROM orders'), value_path: '$.top' };
    const partition = { kind: 'integer', from: 1, to: probe, chunk_size: 300, bounds: 'inclusive' };
    const sink = { type: 'csv', config: { path: 'chunk-${partition.id}.csv' } };
    folder.document(
      'range.json',
      { source: byId, sink },
      { partition, execution: { max_concurrent: 2 } },
    );
    const { code, rows } = await run('range.json');
    expect([code, rows.map((row) => [row.row_id, row.rows_out])]).toEqual([
      0,
      [300, 300, 300, 100].map((count, index) => [`row-0::partition::${index}`, count]),
    ]);
    const ids = [0, 1, 2, 3].flatMap((chunk) =>
      folder
        .text(`chunk-${chunk}.csv`)
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => Number(line.split(',')[0])),
    );
    expect(ids).toEqual(all);
  });

  it('may not replace each other with one file', async () => {
    const partition = { kind: 'offset', total: 10, chunk_size: 5 };
    const source = shop('SELECT * FROM orders LIMIT ${partition.limit} OFFSET ${partition.offset}');
    folder.document(
      'clash.json',
      { source, sink: { type: 'csv', config: { path: 'one.csv' } } },
      { partition },
    );
    const { code, stderr } = await folder.run(['validate', 'clash.json']);
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      'runs once per chunk, and each invocation would replace the file `one.csv`',
    );
  });

  it('of days and of records each move their share', async () => {
    const days = {
      kind: 'timestamp',
      from: '2026-03-28',
      to: '2026-03-31',
      chunk_size: '1d',
      timezone: 'Europe/Oslo',
    };
    const byDay = {
      id: 'days',
      partition: days,
      source: { config: { query: "SELECT id FROM orders WHERE day = '${partition.start_date}'" } },
    };
    const offset = { kind: 'offset', total: 10, chunk_size: 4 };
    const byOffset = {
      id: 'offsets',
      partition: offset,
      source: {
        config: {
          query: 'SELECT id FROM orders LIMIT ${partition.limit} OFFSET ${partition.offset}',
        },
      },
    };
    const into = (row: { readonly id: string }) => ({
      ...row,
      sink: { config: { path: `${row.id}-\${partition.id}.jsonl` } },
    });
    const sink = { type: 'jsonl', config: {} };
    folder.document(
      'shares.json',
      { source: shop('unused'), sink },
      { matrix: [into(byDay), into(byOffset)] },
    );
    const { code, rows } = await run('shares.json');
    expect([code, rows.map((row) => row.rows_out)]).toEqual([0, [333, 334, 333, 4, 4, 2]]);
    expect(idsIn('days-20260327T230000Z.jsonl')[0]).toBe(3);
  });

  it('of a key range read every row of a PostgreSQL table once', { timeout: 60_000 }, async () => {
    const database = await freshDatabase();
    try {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query(
        'CREATE TABLE orders AS SELECT n::bigint AS id, n::text AS name FROM generate_series(1, 1000) AS n',
      );
      const source = {
        type: 'postgres',
        config: {
          connection_url: database.url,
          query: 'SELECT * FROM orders WHERE id >= ${partition.start} AND id < ${partition.end}',
        },
      };
      const probe = {
        from_source: {
          ...source,
          config: { ...source.config, query: 'SELECT max(id) AS top FROM orders' },
        },
        value_path: '$.top',
      };
      const partition = {
        kind: 'integer',
        from: 1,
        to: probe,
        chunk_size: 400,
        bounds: 'half_open',
      };
      const sink = {
        type: 'postgres',
        config: { connection_url: database.url, table_name: 'copied', column_mapping: 'auto_map' },
      };
      folder.document(
        'postgres.json',
        { source, sink },
        { partition, execution: { max_concurrent: 2 } },
      );
      const { code, rows } = await run('postgres.json');
      const found = await client.query<{ rows: string; ids: string }>(
        'SELECT count(*) AS rows, count(DISTINCT id) AS ids FROM copied',
      );
      await client.end();
      expect([code, rows.map((row) => row.rows_out), found.rows]).toEqual([
        0,
        [400, 400, 200],
        [{ rows: '1000', ids: '1000' }],
      ]);
    } finally {
      await database.drop();
    }
  });
});
