/** A copy of a DuckDB table has the same columns and values, on every way. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { duckdbRows, openDuckdb, type Duckdb } from '../../lib/sql/duckdb.ts';
import type { JsonObject } from '../../lib/text/json.ts';

const folder = mkdtempSync(join(tmpdir(), 'duckdb-same-kind-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Each type with SQL values of it. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  BOOLEAN: ['true', 'false'],
  TINYINT: ['-128', '127'],
  BIGINT: ['9007199254740993', '-9223372036854775808'],
  UBIGINT: ['18446744073709551615', '0'],
  HUGEINT: ['170141183460469231731687303715884105727', '1'],
  FLOAT: ['0.1', "'NaN'", "'-Infinity'", '16777216', '-0.0'],
  DOUBLE: ['2.0', '0.1', "'NaN'", "'Infinity'", '1e300', '-0.0'],
  'DECIMAL(5,2)': ['1.10', '-999.99', '2'],
  'DECIMAL(38,10)': ['1234567890123456789012345678.0000000001'],
  VARCHAR: ["'1.10'", "''", "'null'", "' 12'", '\'{"a": 1}\'', "'it''s'"],
  BLOB: ["'\\x00\\xFF'::BLOB", "''::BLOB", "'AP8='::BLOB"],
  DATE: ["'2024-02-29'", "'0044-03-15 (BC)'", "'infinity'", "'12024-01-01'"],
  TIME: ["'07:08:09.000001'", "'00:00:00'"],
  TIMETZ: ["'07:08:09+02'"],
  TIMESTAMP: ["'2024-05-06 07:08:09.123456'", "'infinity'"],
  TIMESTAMP_S: ["'2024-05-06 07:08:09'"],
  TIMESTAMP_MS: ["'2024-05-06 07:08:09.123'"],
  TIMESTAMP_NS: ["'2024-05-06 07:08:09.123456789'"],
  TIMESTAMPTZ: ["'2024-05-06 07:08:09.5+02'"],
  INTERVAL: ["'1 day 2 hours'", "'-1 month'"],
  UUID: ["'0189c0de-0000-7000-8000-000000000000'"],
  JSON: ['\'{"b": 1.0,  "a": 9007199254740993}\'', "'null'", '\'"x"\'', "'1.10'"],
  BIT: ["'0101'"],
  "ENUM('a', 'b c')": ["'a'", "'b c'"],
  'INTEGER[]': ['[1, NULL, 3]', '[]'],
  'BLOB[]': ["['\\x00'::BLOB, NULL]"],
  'STRUCT(a BLOB, "b ""c" STRUCT(d BLOB[], e INTEGER))': [
    "{'a': '\\x00'::BLOB, 'b \"c': {'d': ['\\xFF'::BLOB, NULL], 'e': 1}}",
    "{'a': NULL, 'b \"c': NULL}",
  ],
  'MAP(VARCHAR, BLOB)': ["MAP {'k': '\\x00\\x01'::BLOB, 'l': NULL}", 'MAP {}'],
  'MAP(BLOB, INTEGER)[]': ["[MAP {'\\x00'::BLOB: 1}, NULL]"],
  'BLOB[2]': ["['\\x00'::BLOB, NULL]"],
  'UNION(i INTEGER, s VARCHAR, "a b" BLOB)': [
    'union_value(i := 5)',
    "union_value(s := '5')",
    'union_value("a b" := \'\\x00\'::BLOB)',
  ],
  'UNION(s VARCHAR, i INTEGER)[]': ['[union_value(i := 5)::UNION(s VARCHAR, i INTEGER), NULL]'],
  "STRUCT(u UNION(a BIGINT, b DOUBLE), e ENUM('x(y', 'z, \"w'), b BLOB)": [
    "{'u': union_value(b := 2.0)::UNION(a BIGINT, b DOUBLE), 'e': 'x(y', 'b': 'AA'::BLOB}",
  ],
  'DECIMAL(4,2)[]': ['[1.50, 2]'],
  'TIMESTAMP[]': ["['2024-05-06 07:08:09.5'::TIMESTAMP]"],
  'INTEGER[2]': ['[1, 2]'],
  'STRUCT(a INTEGER, "b c" VARCHAR[])': [
    "{'a': 1, 'b c': ['1.10', NULL]}",
    "{'a': NULL, 'b c': []}",
  ],
  'MAP(VARCHAR, INTEGER)': ["MAP {'k': 1, 'l': NULL}", 'MAP {}'],
  'MAP(INTEGER, VARCHAR)': ["MAP {7: 'x'}"],
};

const column = fc.constantFrom(...Object.keys(VALUES)).chain((type) =>
  fc.record({
    type: fc.constant(type),
    values: fc.array(fc.constantFrom('NULL', ...(VALUES[type] ?? [])), {
      minLength: 5,
      maxLength: 5,
    }),
  }),
);
const table = fc.array(column, { minLength: 1, maxLength: 6 });

const KEYED = { write_mode: 'upsert', key: ['id'] };
interface Way {
  /** They are asked for; records go without them. */
  readonly threads?: true;
  readonly sink?: JsonObject;
  readonly transforms?: JsonObject[];
  readonly limit?: number;
  readonly batch?: number;
  readonly graph?: JsonObject;
}
const GRAPH: JsonObject = {
  nodes: {
    read: { kind: 'source' },
    all: {
      kind: 'transform',
      transforms: [{ type: 'filter', config: { path: 'id', op: 'exists' } }],
    },
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
  threads: {
    transforms: [{ type: 'filter', config: { path: 'id', op: 'exists' } }],
    threads: true,
  },
  'a filter that keeps all': {
    transforms: [{ type: 'filter', config: { path: 'id', op: 'exists' } }],
  },
  'a query over every page': {
    transforms: [{ type: 'sql', config: { query: 'SELECT * FROM batch' } }],
    batch: 2,
  },
  overwrite: { sink: { write_mode: 'overwrite' } },
  'a limit': { limit: 100 },
  upsert: { sink: KEYED },
};

interface Opened {
  readonly path: string;
  readonly ask: (...statements: string[]) => Promise<JsonObject[]>;
}

let files = 0;

/** Both databases stay open, so that a run shares them. */
async function withDatabases(work: (from: Opened, into: Opened) => Promise<void>): Promise<void> {
  const databases: Duckdb[] = [];
  const opened = async (): Promise<Opened> => {
    const path = join(folder, `${(files += 1)}.duckdb`);
    const database = await openDuckdb(path);
    databases.push(database);
    return {
      path,
      ask: async (...statements) => {
        let rows: JsonObject[] = [];
        for (const sql of statements) rows = await duckdbRows(database.connection, sql);
        return rows;
      },
    };
  };
  try {
    await work(await opened(), await opened());
  } finally {
    for (const database of databases) database.close();
  }
}

function documentOf(
  from: string,
  into: string,
  { sink, transforms, batch, graph }: Way,
): JsonObject {
  const source = { database: from, query: 'SELECT * FROM t ORDER BY id' };
  return {
    pipeline: {
      source: {
        type: 'duckdb',
        config: batch === undefined ? source : { ...source, batch_size: batch },
      },
      ...(transforms === undefined ? {} : { transforms }),
      ...graph,
      sink: {
        type: 'duckdb',
        config: { database: into, table_name: 't', column_mapping: 'auto_map', ...sink },
      },
    },
  };
}

/** Types and texts of all values, worked out by the engine. */
async function digest({ ask }: Opened): Promise<unknown[]> {
  const columns = await ask(
    "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index",
  );
  const texts = await ask('SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t ORDER BY 1');
  // The text of a union does not tell which member it is.
  return [columns, texts, await ask('SELECT CAST(to_json(t) AS VARCHAR) AS j FROM t ORDER BY id')];
}

interface Made {
  readonly type: string;
  readonly values: readonly string[];
}

const ROWS = [0, 1, 2, 3, 4];

async function copied(columns: readonly Made[], way: Way): Promise<void> {
  await withDatabases(async (from, into) => {
    const lines = columns.map(({ type }, index) => `c${index} ${type}`);
    const rows = ROWS.map(
      (row) => `(${[row, ...columns.map(({ values }) => values[row] ?? 'NULL')].join(', ')})`,
    );
    await from.ask(
      `CREATE TABLE t (id INTEGER, ${lines.join(', ')})`,
      `INSERT INTO t VALUES ${rows.join(', ')}`,
    );
    const plan = planOfTree(documentOf(from.path, into.path, way));
    const outcome = await run(plan, {
      ...(way.limit === undefined ? {} : { limit: way.limit }),
      ...(way.threads === undefined ? {} : { threads: 1, threadsFromBytes: 0 }),
    });
    expect(outcome.error).toBeNull();
    expect(await digest(into)).toEqual(await digest(from));
  });
}

test('all types at once', async () => {
  const all = Object.entries(VALUES).map(([type, values]) => ({ type, values }));
  await copied(all, {});
});

test.each(Object.entries(ways))('through %s', async (_name, way) => {
  await fc.assert(
    fc.asyncProperty(table, (columns) => copied(columns, way)),
    { numRuns: way.threads === true ? 4 : 8 },
  );
});

test('`cast: float` makes a DOUBLE column, whatever the values', async () => {
  await withDatabases(async (from, into) => {
    await from.ask('CREATE TABLE t AS SELECT i AS id, i::VARCHAR AS v FROM range(3) AS r(i)');
    const cast = { type: 'cast', config: { fields: { v: 'float' } } };
    await run(planOfTree(documentOf(from.path, into.path, { transforms: [cast] })));
    expect(await into.ask('SELECT typeof(v) AS t, sum(v) AS s FROM t GROUP BY 1')).toEqual([
      { t: 'DOUBLE', s: 3 },
    ]);
  });
});

test.each([
  ['BIGINT', '2.5'],
  ['SMALLINT', "'1.25e1'"],
  ['DOUBLE', '9007199254740993'],
  ['DECIMAL(4,1)', '1.25'],
])('a %s column never rounds %s', async (type, value) => {
  await withDatabases(async (from, into) => {
    await from.ask(`CREATE TABLE t AS SELECT 1 AS id, ${value} AS v`);
    await into.ask(`CREATE TABLE t (id INTEGER, v ${type})`);
    const { error } = await run(planOfTree(documentOf(from.path, into.path, {})));
    expect(error?.message).toMatch(/the column `v` is .* would round/);
    expect(await into.ask('SELECT * FROM t')).toEqual([]);
  });
});
