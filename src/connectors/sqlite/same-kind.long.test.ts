/** A copy of a SQLite table holds the same values with the same storage classes, on every way. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { sqliteSink } from './index.ts';
import type { JsonObject } from '../../lib/text/json.ts';

const folder = mkdtempSync(join(tmpdir(), 'sqlite-same-kind-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TYPES = [
  '',
  'INTEGER',
  'BIGINT',
  'REAL',
  'DOUBLE PRECISION',
  'TEXT',
  'VARCHAR(20)',
  'BLOB',
  'NUMERIC',
  'DECIMAL(10, 2)',
  'BOOLEAN',
  'DATETIME',
  'JSON',
  'FLOATING POINT',
  'UNSIGNED BIG INT',
  'TEXT COLLATE NOCASE',
];
const value: fc.Arbitrary<SQLInputValue> = fc.oneof(
  fc.constantFrom('1.10', '1e5', 'null', 'true', ' 12', '"x"', '{"a": 1}', '[1,  2]', '007', ''),
  fc.constantFrom(
    '\ufeffx',
    'a\u0000b',
    '\u0000',
    '😀',
    'e\u0301',
    '-0',
    '0x10',
    '1_000',
    '1.0',
    '1e400',
  ),
  fc.constantFrom(
    '9007199254740993',
    '0.1234567890123456789',
    '-0.0',
    '+1',
    '[',
    '[1.50]',
    '"\\ud800"',
  ),
  fc.string({ maxLength: 6 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.integer({ min: -3, max: 3 }).map(BigInt),
  fc.constantFrom(1e16, 1, -0, 0.1, 9.1e300, 2 ** 53, 2 ** 63, 5e-324, Infinity, -Infinity),
  fc.constantFrom(2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)),
  fc.double({ noNaN: true }),
  fc.uint8Array({ maxLength: 5 }),
  fc.constant(null),
);
const table = fc.array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 5 }).chain((types) =>
  fc.record({
    types: fc.constant(types),
    rows: fc.array(fc.array(value, { minLength: types.length, maxLength: types.length }), {
      minLength: 1,
      maxLength: 8,
    }),
  }),
);

const MASKS_NOTHING: JsonObject = {
  rules: [{ match: { fields: ['nothing'] }, action: { type: 'hash' } }],
};
const CONTRACT: JsonObject = {
  version: '1',
  on_breach: 'fail',
  fields: [{ name: 'id', type: 'integer' }],
};
const KEEPS_ALL = { type: 'filter', config: { path: 'id', op: 'exists' } };
const KEYED = { write_mode: 'upsert', key: ['id'] };
interface Way {
  /** They are asked for; records go without them. */
  readonly threads?: true;
  readonly sink?: JsonObject;
  readonly transforms?: JsonObject[];
  readonly limit?: number;
  readonly batch?: number;
  readonly graph?: JsonObject;
  /** Other blocks of the pipeline. */
  readonly more?: JsonObject;
  /** The table exists, with the same columns. */
  readonly isThere?: true;
}
const GRAPH: JsonObject = {
  nodes: {
    read: { kind: 'source' },
    all: { kind: 'transform', transforms: [KEEPS_ALL] },
    write: { kind: 'sink' },
  },
  edges: [
    { from: 'read', to: 'all' },
    { from: 'all', to: 'write' },
  ],
};
const ways: Readonly<Record<string, Way>> = {
  'no stage': {},
  'pages of two rows': { batch: 2 },
  'a graph of nodes': { graph: GRAPH, batch: 2 },
  threads: { transforms: [KEEPS_ALL], threads: true },
  'a filter that keeps all': { transforms: [KEEPS_ALL] },
  'a field that is added': { transforms: [{ type: 'set', config: { values: { more: 1 } } }] },
  'a field that is added and dropped': {
    transforms: [
      { type: 'set', config: { values: { more: 1 } } },
      { type: 'drop', config: { fields: ['more'] } },
    ],
  },
  'fields that are selected': {
    transforms: [{ type: 'select', config: { fields: ['c4', 'c3', 'c2', 'c1', 'c0', 'id'] } }],
  },
  'fields that change their names and get them back': {
    transforms: [
      { type: 'rename_field', config: { fields: { c0: 'c1', c1: 'c0' } } },
      { type: 'rename_keys', config: { pattern: '^c', replacement: 'k_' } },
      { type: 'rename_keys', config: { pattern: '^k_', replacement: 'c' } },
      { type: 'rename_field', config: { fields: { c0: 'c1', c1: 'c0' } } },
    ],
  },
  'names in other letters': {
    transforms: [{ type: 'rename_field', config: { fields: { c0: 'C0', c1: 'C1' } } }],
    sink: { create_table: true },
  },
  overwrite: { sink: { write_mode: 'overwrite' } },
  'overwrite behind a filter': {
    sink: { write_mode: 'overwrite' },
    transforms: [KEEPS_ALL],
    batch: 2,
  },
  'overwrite with threads': {
    sink: { write_mode: 'overwrite' },
    transforms: [KEEPS_ALL],
    threads: true,
  },
  'a marker with threads': {
    sink: { ...KEYED, delete_marker: { field: 'gone', values: ['y'] } },
    transforms: [KEEPS_ALL],
    threads: true,
  },
  'a masking rule for no field': { more: { masking: MASKS_NOTHING } },
  'a masking rule for no field, with threads': { more: { masking: MASKS_NOTHING }, threads: true },
  'a contract for another field': { more: { contract: CONTRACT } },
  'a table that is there': { isThere: true },
  'a table that is there, behind a filter': { isThere: true, transforms: [KEEPS_ALL], batch: 2 },
  'overwrite of a table that is there': { isThere: true, sink: { write_mode: 'overwrite' } },
  'a limit that cuts': { limit: 2 },
  'a limit that cuts behind a filter': { limit: 2, transforms: [KEEPS_ALL] },
  'a limit': { limit: 100 },
  upsert: { sink: KEYED },
  'an upsert with a marker': {
    sink: { ...KEYED, delete_marker: { field: 'gone', values: ['y'] } },
  },
};

function documentOf(
  from: string,
  into: string,
  { sink, transforms, batch, graph, more }: Way,
): JsonObject {
  const source = { database_url: `sqlite:${from}`, query: 'SELECT * FROM t' };
  return {
    pipeline: {
      source: {
        type: 'sqlite',
        config: batch === undefined ? source : { ...source, batch_size: batch },
      },
      ...(transforms === undefined ? {} : { transforms }),
      ...graph,
      ...more,
      sink: {
        type: 'sqlite',
        config: {
          database_url: `sqlite:${into}?mode=rwc`,
          table_name: 't',
          column_mapping: 'auto_map',
          ...sink,
        },
      },
    },
  };
}

/** Storage class and exact value of each column, as SQLite itself writes them. */
function digest(path: string, names: readonly string[]): unknown[] {
  const db = new DatabaseSync(path);
  try {
    const columns = names.map(
      (name) => `typeof(${name}) || ' ' || coalesce(hex(${name}), '') || quote(${name})`,
    );
    return db.prepare(`SELECT ${columns.join(", ',', ")} FROM t ORDER BY id`).all();
  } finally {
    db.close();
  }
}

let files = 0;
function fresh(): string {
  return join(folder, `${(files += 1)}.db`);
}

function tableOf(
  types: readonly string[],
  rows: readonly SQLInputValue[][],
  path = fresh(),
): string {
  const db = new DatabaseSync(path);
  const columns = ['id INTEGER PRIMARY KEY', ...types.map((type, index) => `c${index} ${type}`)];
  db.exec(`CREATE TABLE t (${columns.join(', ')})`);
  const insert = db.prepare(`INSERT INTO t VALUES (${columns.map(() => '?').join(', ')})`);
  for (const [index, row] of rows.entries()) insert.run(index, ...row);
  db.close();
  return path;
}

test.each(Object.entries(ways))('through %s', async (_name, way) => {
  await fc.assert(
    fc.asyncProperty(table, async ({ types, rows }) => {
      const [from, into] = [tableOf(types, rows), fresh()];
      if (way.isThere === true) tableOf(types, [], into);
      const plan = planOfTree(documentOf(from, into, way));
      const outcome = await run(plan, {
        ...(way.limit === undefined ? {} : { limit: way.limit }),
        ...(way.threads === undefined ? {} : { threads: 1, threadsFromBytes: 0 }),
      });
      expect(outcome.error).toBeNull();
      const names = ['id', ...types.map((_, index) => `c${index}`)];
      expect(digest(into, names)).toEqual(digest(from, names).slice(0, way.limit));
    }),
    { numRuns: way.threads === true ? 6 : 25 },
  );
});

test('a column that REAL would round is refused, and a new one is none', async () => {
  const path = tableOf(['', ''], [[9_007_199_254_740_993n, 1]]);
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE r (id INTEGER, c0 REAL)');
  db.close();
  const document = documentOf(path, path, { sink: { table_name: 'r' } });
  const { error } = await run(planOfTree(document));
  expect(error?.message).toContain('column `c0` is REAL, which would round 9007199254740993');
});

test('columns that a table gets have the types that they had', async () => {
  const types = ['', 'VARCHAR(9)', 'NUMERIC', 'BLOB'];
  const rows = [
    [5, 'a', 9_007_199_254_740_993n, '7'],
    ['007', null, 1.5, 3],
    [1.5, '7', 2, null],
  ] satisfies SQLInputValue[][];
  const [from, into] = [tableOf(types, rows), tableOf([], [])];
  const { pipeline } = documentOf(from, into, {}) as { pipeline: JsonObject };
  const { error } = await run(
    planOfTree({ pipeline: { ...pipeline, schema: { on_drift: 'evolve' } } }),
  );
  expect(error).toBeNull();
  const names = ['id', 'c0', 'c1', 'c2', 'c3'];
  expect(digest(into, names)).toEqual(digest(from, names));
});

test('a field that is dropped leaves the others as they were stored', async () => {
  const [from, into] = [tableOf(['TEXT', 'TEXT', ''], [['1.10', '7', 1]]), fresh()];
  const db = new DatabaseSync(into);
  db.exec('CREATE TABLE t (id INTEGER, c0, c1)');
  db.close();
  const { pipeline } = documentOf(from, into, {}) as { pipeline: JsonObject };
  const { error } = await run(
    planOfTree({ pipeline: { ...pipeline, schema: { on_drift: 'ignore' } } }),
  );
  expect([error, rowsOf(into)]).toEqual([null, ["text '1.10', text '7'"]]);
});

test('a stage that says a type decides, and not what was read', async () => {
  const [from, into] = [tableOf(['TEXT', 'TEXT'], [['1.10', '7']]), fresh()];
  const cast = { type: 'cast', config: { fields: { c0: 'float', c1: 'int' } } };
  await run(planOfTree(documentOf(from, into, { transforms: [cast] })));
  expect(rowsOf(into)).toEqual(['real 1.1, integer 7']);
});

test('bytes that a schema knows as such are stored as BLOB', async () => {
  const into = fresh();
  const checked = check(sqliteSink.config, {
    database_url: `sqlite:${into}?mode=rwc`,
    table_name: 't',
    column_mapping: 'auto_map',
  });
  if (!checked.ok) throw new Error('config');
  const sink = await sqliteSink.open(checked.value, testContext(folder));
  const schema = {
    fields: [
      { name: 'c0', type: { kind: 'binary' as const }, nullable: true },
      { name: 'c1', type: { kind: 'decimal' as const }, nullable: true },
    ],
  };
  const page = Page.ofRecords([{ c0: 'AP8=', c1: '1.10' }], { schema });
  await sink.write(page, { partial: false });
  await sink.close();
  expect(rowsOf(into)).toEqual(["blob X'00FF', text '1.10'"]);
});

function rowsOf(path: string): unknown[] {
  const db = new DatabaseSync(path);
  try {
    const one = (name: string): string => `typeof(${name}) || ' ' || quote(${name})`;
    return db
      .prepare(`SELECT ${one('c0')} || ', ' || ${one('c1')} AS row FROM t`)
      .all()
      .map(({ row }) => row);
  } finally {
    db.close();
  }
}
