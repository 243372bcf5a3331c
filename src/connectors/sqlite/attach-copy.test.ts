/** Rows that SQLite fetches by itself are what they are when they come as records. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { quoteName } from '../../lib/sql/sql-name.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { RECORDS_LANE, type Lane, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { sqliteSink, sqliteSource } from './index.ts';
import { SQLITE_ROWS } from '../../fast/sqlite/row-blocks.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-attach-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ROWS: Lane = { form: 'bytes', encoding: SQLITE_ROWS };
let files = 0;

function database(sql: string): { path: string; db: DatabaseSync } {
  const path = join(folder, `${(files += 1)}.db`);
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${sql}`);
  return { path, db };
}

async function openSource(path: string, config: JsonObject): Promise<Source> {
  const checked = check(sqliteSource.config, { database_url: path, ...config });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return sqliteSource.open(checked.value, { ...testContext(folder) });
}

async function openSink(path: string, config: JsonObject): Promise<Sink> {
  const checked = check(sqliteSink.config, {
    database_url: path,
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return sqliteSink.open(checked.value, testContext(folder));
}

interface Move {
  readonly from: string;
  readonly into: string;
  readonly source: JsonObject;
  readonly sink: JsonObject;
  readonly request?: Omit<ReadRequest, 'lane'>;
}

/** What was written, or how it failed, and whether records had to be made for it. */
async function move({ from, into, source, sink, request }: Move, lane: Lane) {
  const [reader, writer] = [await openSource(from, source), await openSink(into, sink)];
  let written = 0;
  let records = 0;
  try {
    for await (const page of reader.pages({ ...request, lane })) {
      const counted = countingRecords(page, (count) => (records += count));
      written += (await writer.write(counted, { partial: false })).written;
    }
    await writer.flush();
    return { written, records, error: undefined };
  } catch (error) {
    return { written, records, error: (error as Error).message };
  } finally {
    await writer.close();
    await reader.close();
  }
}

function countingRecords(page: Page, count: (records: number) => void): Page {
  const read = page.records.bind(page);
  page.records = () => {
    count(page.count);
    return read();
  };
  return page;
}

/** All rows with the kinds they are stored as. */
function stored(db: DatabaseSync, table: string): unknown[] {
  const names = db
    .prepare(`SELECT name FROM pragma_table_info(?)`)
    .all(table)
    .map((row) => quoteName(String(row['name'])));
  const statement = db.prepare(
    `SELECT ${names.map((name) => `typeof(${name}), quote(${name})`).join(', ')} FROM ${quoteName(table)} ORDER BY rowid`,
  );
  statement.setReturnArrays(true);
  return statement.all();
}

const DECLARED = [
  '',
  'INTEGER',
  'TEXT',
  'REAL',
  'NUMERIC',
  'BLOB',
  'BOOLEAN',
  'JSON',
  'TEXT COLLATE NOCASE',
  'bool',
  'VARCHAR(9)',
];
const NAMES = ['a', 'B', 'c d', 'é', '__proto__', '7', 'quo"te'];
const number = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    1,
    1.5,
    -2.5,
    2,
    1e15,
    9007199254740991,
    9007199254740992,
    1e16,
    1e300,
    Infinity,
    -Infinity,
    5e-324,
    1e21,
  ),
  fc.double({ noNaN: true }),
);
const integer = fc.oneof(
  fc.constantFrom(
    0n,
    1n,
    -1n,
    2n,
    9007199254740991n,
    9007199254740993n,
    -9007199254740993n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ),
  fc.bigInt({ min: -9n, max: 9n }),
);
const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'x',
    'true',
    'false ',
    ' null',
    'nullx',
    'True',
    'TRUE',
    'true',
    '1',
    '01',
    '1.50',
    '-0',
    '1e5',
    '1e400',
    '12345678901234567890',
    '+1',
    '.5',
    '-',
  ),
  fc.constantFrom(
    '{"a": 1}',
    '{"b":1,"a":[1.0]}',
    '{"a":1,"a":2}',
    '{"2":1,"1":2}',
    '[]',
    '[1',
    '"x"',
    '"1"',
    '"\\u0041"',
    '{"n":9007199254740993}',
    '{"n":1E2}',
    '{"n":1e999}',
  ),
  fc.constantFrom(
    '2026-01-02T03:04:05Z',
    '2026-01-02',
    '1 2',
    '1\n',
    '\t[2]',
    '\u00a01',
    '\ufeff1',
    'name',
    'true\u0000',
    '1\u0000',
    '{}\u0000',
    'é"\n',
    '\u{1f600}',
  ),
  fc.json(),
  fc.string({ unit: fc.constantFrom(...'truefalsn012.-+eE[]{}":, \t'.split('')), maxLength: 6 }),
);
const value: fc.Arbitrary<SQLInputValue> = fc.oneof(
  number,
  integer,
  text,
  text,
  fc.constant(null),
  fc.uint8Array({ maxLength: 4 }),
);

const table = fc
  .uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 })
  .chain((names) =>
    fc.record({
      names: fc.constant(names),
      from: fc.array(fc.constantFrom(...DECLARED), {
        minLength: names.length,
        maxLength: names.length,
      }),
      into: fc.array(fc.constantFrom(...DECLARED), {
        minLength: names.length,
        maxLength: names.length,
      }),
      rows: fc.array(fc.array(value, { minLength: names.length, maxLength: names.length }), {
        maxLength: 9,
      }),
      // The destination may lack the first of several columns, and have one that the source lacks.
      lacking: fc.boolean(),
    }),
  );

const columnsOf = (names: readonly string[], types: readonly string[]): string[] =>
  names.map((name, index) => `${quoteName(name)} ${types[index] ?? ''}`);

describe('rows that go from file to file', () => {
  test('are stored as they are when they come as records, whatever the values and the types of the columns', async () => {
    const moves = fc.record({
      table,
      batch_size: fc.constantFrom(1, 3, 1000),
      limit: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    });
    type OneMove = typeof moves extends fc.Arbitrary<infer One> ? One : never;
    let passed = 0;
    const [origin, target] = [database(''), database('')];
    await fc.assert(
      fc.asyncProperty(
        moves,
        async ({ table: { names, from, into, rows, lacking }, batch_size, limit }) => {
          origin.db.exec(
            `DROP TABLE IF EXISTS "the t"; CREATE TABLE "the t" (${columnsOf(names, from).join(', ')})`,
          );
          const insert = origin.db.prepare(
            `INSERT INTO "the t" VALUES (${names.map(() => '?').join(', ')})`,
          );
          for (const row of rows) insert.run(...row);
          const lines = columnsOf(names, into).slice(lacking && names.length > 1 ? 1 : 0);
          for (const name of ['r', 'p']) {
            target.db.exec(
              `DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (extra DEFAULT 5, ${lines.join(', ')})`,
            );
          }
          const source = { query: 'SELECT * FROM "the t" AS x', batch_size };
          const request = limit === undefined ? {} : { limit };
          const asked = { from: origin.path, into: target.path, source, request };
          const [asRecords, asRows] = [
            await move({ ...asked, sink: { table_name: 'r' } }, RECORDS_LANE),
            await move({ ...asked, sink: { table_name: 'p' } }, ROWS),
          ];
          expect(asRows.error).toEqual(asRecords.error);
          // What came before a page that is refused depends on the size of pages.
          if (asRows.error !== undefined) return;
          expect(asRows.written).toBe(asRecords.written);
          expect(stored(target.db, 'p')).toEqual(stored(target.db, 'r'));
          if (asRows.records === 0) passed += asRows.written;
        },
      ),
      {
        numRuns: 80,
        examples: ['REAL', 'NUMERIC', 'INTEGER'].map((type): [OneMove] => {
          const rows: SQLInputValue[][] = [['9223372036854775809'], ['0.12345678901234567891']];
          const made = { names: ['a'], from: ['TEXT'], into: [type], rows, lacking: false };
          return [{ table: made, batch_size: 1, limit: undefined }];
        }),
      },
    );
    expect(passed).toBeGreaterThan(100);
  });

  test('replace the rows with their key as records do', async () => {
    const key = fc.oneof(
      fc.constantFrom<SQLInputValue>(
        null,
        '1',
        ' 1',
        '"1"',
        'a',
        'A',
        'true',
        '"true"',
        1.5,
        1,
        'x',
      ),
      integer,
      text,
    );
    const moves = fc.record({
      rows: fc.array(fc.tuple(key, value), { maxLength: 8 }),
      from: fc.constantFrom(...DECLARED),
      into: fc.constantFrom('INTEGER', 'TEXT', '', 'NUMERIC', 'TEXT COLLATE NOCASE'),
    });
    const [origin, target] = [database(''), database('')];
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(moves, async ({ rows, from, into }) => {
        origin.db.exec(`DROP TABLE IF EXISTS t; CREATE TABLE t (k ${from}, v)`);
        const insert = origin.db.prepare('INSERT INTO t VALUES (?, ?)');
        for (const row of rows) insert.run(...row);
        for (const name of ['r', 'p']) {
          target.db.exec(
            `DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (k ${into} PRIMARY KEY, v); INSERT INTO ${name} VALUES (1, 'old'), (7, 'old')`,
          );
        }
        const asked = {
          from: origin.path,
          into: target.path,
          source: { query: 'SELECT * FROM t' },
        };
        const sink = { write_mode: 'upsert', key: ['k'] };
        const asRecords = await move(
          { ...asked, sink: { table_name: 'r', ...sink } },
          RECORDS_LANE,
        );
        const asRows = await move({ ...asked, sink: { table_name: 'p', ...sink } }, ROWS);
        expect([
          asRows.written,
          asRows.error?.replaceAll('`p`', '`r`').replaceAll(' p.', ' r.'),
        ]).toEqual([asRecords.written, asRecords.error]);
        expect(stored(target.db, 'p')).toEqual(stored(target.db, 'r'));
        if (asRows.records === 0) passed += asRows.written;
      }),
      { numRuns: 100 },
    );
    expect(passed).toBeGreaterThan(2);
  });

  const many = (rows: number): string =>
    `CREATE TABLE t (id INTEGER PRIMARY KEY, grp INTEGER, name TEXT);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) INSERT INTO t SELECT i * 3, i % 5, 'n' || i FROM n`;
  const EMPTY = 'CREATE TABLE t (id INTEGER PRIMARY KEY, grp INTEGER, name TEXT)';

  test.each([
    ['SELECT * FROM t'],
    [
      'select id, name as other, grp from main where_is -- comment\n;'.replace(
        'main where_is',
        't',
      ),
    ],
    ["SELECT x.* FROM \"t\" x WHERE grp = 2 OR name IN ('n1', 'n7') -- that is all"],
    ['SELECT id, grp + 1 AS grp FROM [t] WHERE id BETWEEN 30 AND 3000 AND NOT (grp = 1)'],
    ["SELECT rowid AS id FROM t WHERE name LIKE 'n1%';"],
  ])('make no records on the way: %s', async (query) => {
    const [origin, target] = [database(many(2500)), database(EMPTY)];
    const moved = await move(
      { from: origin.path, into: target.path, source: { query }, sink: { table_name: 't' } },
      ROWS,
    );
    expect(moved.error).toBeUndefined();
    expect(moved.records).toBe(0);
    const expected = origin.db
      .prepare(query)
      .all()
      .map((row) => ({ id: row['id'], grp: row['grp'] ?? null }));
    expect(target.db.prepare('SELECT id, grp FROM t ORDER BY id').all()).toEqual(expected);
  });

  test('go as records into a table that has to be made first, and alone from then on', async () => {
    const [origin, target] = [database(many(2500)), database('')];
    const asked = {
      from: origin.path,
      into: target.path,
      source: { query: 'SELECT * FROM t', batch_size: 1000 },
    };
    expect(await move({ ...asked, sink: { table_name: 'p' } }, ROWS)).toMatchObject({
      written: 2500,
      records: 1000,
    });
    expect(await move({ ...asked, sink: { table_name: 'r' } }, RECORDS_LANE)).toMatchObject({
      written: 2500,
    });
    expect(
      target.db
        .prepare("SELECT replace(sql, '\"p\"', '\"r\"') AS sql FROM sqlite_schema WHERE name = 'p'")
        .get(),
    ).toEqual(target.db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'r'").get());
    expect(stored(target.db, 'p')).toEqual(stored(target.db, 'r'));
  });

  test('that change while they are moved are moved as they were when the move began', async () => {
    const [origin, target] = [database(many(2500)), database(EMPTY)];
    const [reader, writer] = [
      await openSource(origin.path, { query: 'SELECT * FROM t', batch_size: 1000 }),
      await openSink(target.path, { table_name: 't' }),
    ];
    for await (const page of reader.pages({ lane: ROWS })) {
      await writer.write(page, { partial: false });
      origin.db.exec('DELETE FROM t WHERE id > 100; INSERT INTO t VALUES (1000000, 1, 2)');
    }
    await writer.close();
    await reader.close();
    expect(target.db.prepare('SELECT count(*) AS n, max(id) AS last FROM t').get()).toEqual({
      n: 2500,
      last: 7500,
    });
  });

  test('can be any part of a page', async () => {
    const [origin, target] = [database(many(250)), database(EMPTY)];
    const [reader, writer] = [
      await openSource(origin.path, { query: 'SELECT * FROM t WHERE grp <> 3' }),
      await openSink(target.path, { table_name: 't' }),
    ];
    for await (const page of reader.pages({ lane: ROWS })) {
      const expected = page.records().slice(7, 19);
      expect(page.slice(5, 100).slice(2, 14).records()).toEqual(expected);
      expect(await writer.write(page.slice(5, 100).slice(2, 14), { partial: false })).toEqual({
        written: 12,
        rejected: [],
      });
      expect(target.db.prepare('SELECT * FROM t').all()).toEqual(structuredClone(expected));
    }
    await writer.close();
    await reader.close();
  });

  test('come as records where an index picks them', async () => {
    const [origin, target] = [
      database(`${many(2500)}; CREATE INDEX by_grp ON t (grp)`),
      database(EMPTY),
    ];
    const asked = { from: origin.path, into: target.path, sink: { table_name: 't' } };
    expect(
      await move({ ...asked, source: { query: 'SELECT * FROM t WHERE grp = 2' } }, ROWS),
    ).toMatchObject({
      written: 500,
      records: 500,
    });
    target.db.exec('DELETE FROM t');
    expect(
      await move(
        { ...asked, source: { query: 'SELECT * FROM t WHERE id > 7000 AND name > 2' } },
        ROWS,
      ),
    ).toMatchObject({
      written: 167,
      records: 0,
    });
  });

  test('stay records within one file, out of views, and where the row id is hidden', async () => {
    const origin = database(
      `${many(10)}; CREATE TABLE into_it (id, grp, name); CREATE VIEW v AS SELECT * FROM t; CREATE TABLE w (id PRIMARY KEY) WITHOUT ROWID;
       INSERT INTO w VALUES (1); CREATE TABLE h (rowid TEXT, id); INSERT INTO h VALUES ('x', 1)`,
    );
    const target = database(EMPTY);
    const same = {
      from: origin.path,
      into: origin.path,
      source: { query: 'SELECT * FROM t' },
      sink: { table_name: 'into_it' },
    };
    expect(await move(same, ROWS)).toEqual({ written: 10, records: 10, error: undefined });
    for (const [name, count] of [
      ['v', 10],
      ['w', 1],
      ['h', 1],
    ] as const) {
      const asked = {
        from: origin.path,
        into: target.path,
        source: { query: `SELECT id FROM ${name}` },
        sink: { table_name: 't' },
      };
      target.db.exec('DELETE FROM t');
      expect(await move(asked, ROWS)).toEqual({ written: count, records: count, error: undefined });
    }
  });

  test('that the table refuses are reported as records are', async () => {
    const [origin, target] = [
      database(many(30)),
      database(`CREATE TABLE t (id INTEGER PRIMARY KEY, grp CHECK (grp < 4), name TEXT)`),
    ];
    const asked = {
      from: origin.path,
      into: target.path,
      source: { query: 'SELECT * FROM t' },
      sink: { table_name: 't' },
    };
    const [asRecords, asRows] = [await move(asked, RECORDS_LANE), await move(asked, ROWS)];
    expect(asRows.error).toBe(asRecords.error);
    expect(asRows.error).toContain('CHECK constraint failed');
    expect(stored(target.db, 't')).toEqual([]);
  });
});

test.each([
  ['SELECT count(*) AS n FROM t'],
  ['SELECT DISTINCT a FROM t'],
  ['SELECT * FROM t ORDER BY a'],
  ['SELECT * FROM t LIMIT 5'],
  ['SELECT * FROM t, u'],
  ['SELECT * FROM t JOIN u ON t.a = u.a'],
  ['SELECT * FROM t UNION SELECT * FROM u'],
  ['SELECT * FROM main.t'],
  ['SELECT * FROM (SELECT 1 AS a)'],
  ['SELECT * FROM t WHERE a < random()'],
  ['SELECT * FROM t WHERE a IN (SELECT a FROM u)'],
  ['SELECT a, CURRENT_TIMESTAMP AS at FROM t'],
  ['SELECT * FROM t WHERE a = :given'],
  ['SELECT * FROM t WHERE a = ?'],
  ['WITH w AS (SELECT 1) SELECT * FROM w'],
  ['SELECT 1 AS a'],
  ['VALUES (1)'],
])('the plan says why a query is read as records: %s', (query) => {
  const checked = check(sqliteSource.config, { database_url: 'a.db', query });
  if (!checked.ok) throw new Error('config');
  expect(sqliteSource.capabilities(checked.value)).toMatchObject({
    encodings: [],
    recordsBecause: 'the query does more than choose columns and rows of one table',
  });
});
