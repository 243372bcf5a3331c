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
  SMALLINT: ['-32768', '32767'],
  INTEGER: ['-2147483648', '2147483647'],
  UTINYINT: ['0', '255'],
  USMALLINT: ['0', '65535'],
  UINTEGER: ['0', '4294967295'],
  HUGEINT: [
    '170141183460469231731687303715884105727',
    '-170141183460469231731687303715884105728',
    '1',
  ],
  UHUGEINT: ['340282366920938463463374607431768211455', '0'],
  BIGNUM: [`'${'9'.repeat(60)}'`, `'-${'1'.repeat(40)}'`, "'0'"],
  FLOAT: ['0.1', "'NaN'", "'-Infinity'", '16777216', '-0.0', '1e-45', '3.4028235e38'],
  DOUBLE: ['2.0', '0.1', "'NaN'", "'Infinity'", '1e300', '-0.0', '5e-324', '9007199254740993'],
  'DECIMAL(5,2)': ['1.10', '-999.99', '2'],
  'DECIMAL(18,0)': ['999999999999999999', '-1'],
  'DECIMAL(38,38)': ['0.00000000000000000000000000000000000001', '-0.5'],
  'DECIMAL(38,10)': ['1234567890123456789012345678.0000000001'],
  VARCHAR: [
    "'1.10'",
    "''",
    "'null'",
    "' 12'",
    '\'{"a": 1}\'',
    "'it''s'",
    "chr(65279) || 'x'",
    "'a' || chr(0) || 'b'",
    "'😀 e' || chr(769)",
    'chr(65533)',
    "'\\ud800'",
    "'AP8='",
    "'NaN'",
  ],
  BLOB: ["'\\x00\\xFF'::BLOB", "''::BLOB", "'AP8='::BLOB"],
  DATE: [
    "'2024-02-29'",
    "'0044-03-15 (BC)'",
    "'infinity'",
    "'-infinity'",
    "'12024-01-01'",
    "'5877642-06-25 (BC)'",
    "'5881580-07-10'",
  ],
  TIME: ["'07:08:09.000001'", "'00:00:00'", "'24:00:00'", "'23:59:59.999999'"],
  TIME_NS: ["'07:08:09.123456789'", "'00:00:00'"],
  TIMETZ: ["'07:08:09+02'", "'00:00:00.000001-15:59:59'", "'24:00:00+15:59:59'"],
  TIMESTAMP: [
    "'2024-05-06 07:08:09.123456'",
    "'infinity'",
    "'-infinity'",
    "'0044-03-15 (BC) 00:00:00'",
    "'294247-01-10 04:00:54.775806'",
    "'290309-12-22 (BC) 00:00:00'",
    "'1969-12-31 23:59:59.999999'",
  ],
  TIMESTAMP_S: [
    "'2024-05-06 07:08:09'",
    "'infinity'",
    "'0001-01-01 00:00:00'",
    "'12024-01-01 00:00:00'",
  ],
  TIMESTAMP_MS: [
    "'2024-05-06 07:08:09.123'",
    "'-infinity'",
    "'1969-12-31 23:59:59.999'",
    "'0044-03-15 (BC) 00:00:00.001'",
  ],
  TIMESTAMP_NS: [
    "'2024-05-06 07:08:09.123456789'",
    "'infinity'",
    "'1969-12-31 23:59:59.999999999'",
    "'1677-09-22 00:00:00'",
    "'2262-04-11 23:47:16.854775806'",
  ],
  TIMESTAMPTZ: [
    "'2024-05-06 07:08:09.5+02'",
    "'infinity'",
    "'-infinity'",
    "'0044-03-15 (BC) 00:00:00+00'",
    "'12024-12-31 23:59:59.999999+00'",
  ],
  INTERVAL: [
    "'1 day 2 hours'",
    "'-1 month'",
    "'0 seconds'",
    "'-1 month 3 days -00:00:00.000001'",
    "'178000000 years'",
  ],
  UUID: [
    "'0189c0de-0000-7000-8000-000000000000'",
    "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    "'00000000-0000-0000-0000-000000000000'",
  ],
  JSON: ['\'{"b": 1.0,  "a": 9007199254740993}\'', "'null'", '\'"x"\'', "'1.10'"],
  BIT: ["'0101'", "'0'", "'111111111'"],
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
  'INTEGER[2]': ['[1, 2]', '[NULL, 0]'],
  'DOUBLE[]': ["['NaN'::DOUBLE, -0.0, NULL, 'Infinity'::DOUBLE]"],
  // Without negative zero: the engine itself loses that of an array behind ON CONFLICT.
  'FLOAT[3]': ["[0.1::FLOAT, 'NaN'::FLOAT, 1e-45::FLOAT]"],
  'HUGEINT[]': ['[170141183460469231731687303715884105727, NULL]'],
  'DATE[]': ["['infinity'::DATE, '0044-03-15 (BC)'::DATE]"],
  'TIMESTAMP_NS[]': ["['2024-05-06 07:08:09.123456789'::TIMESTAMP_NS, NULL]"],
  'INTERVAL[]': ["['1 day 2 hours'::INTERVAL, NULL]"],
  'JSON[]': ['[\'{"b": 1.0,  "a": null}\'::JSON, \'null\'::JSON, NULL]'],
  'VARCHAR[][]': ["[['a', NULL], NULL, [], ['']]"],
  'STRUCT(t TIMETZ, j JSON, d DECIMAL(38,10), x BIGINT)': [
    "{'t': '07:08:09+02'::TIMETZ, 'j': '1.0'::JSON, 'd': 0.0000000001, 'x': 9007199254740993}",
  ],
  'MAP(DATE, DOUBLE)': ["MAP {'2024-01-01'::DATE: 'NaN'::DOUBLE, '0044-03-15 (BC)'::DATE: -0.0}"],
  'MAP(VARCHAR, MAP(VARCHAR, INTEGER[]))': [
    "MAP {'': MAP {'b': [1], 'a': NULL}, '__proto__': NULL}",
  ],
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
const MARKED = { ...KEYED, delete_marker: { field: 'gone', values: ['y'] } };
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
  'a masking rule for no field': { more: { masking: MASKS_NOTHING } },
  'a masking rule for no field, with threads': { more: { masking: MASKS_NOTHING }, threads: true },
  'a contract for another field': { more: { contract: CONTRACT } },
  'a table that is there': { isThere: true },
  'a table that is there, behind a filter': { isThere: true, transforms: [KEEPS_ALL], batch: 2 },
  'overwrite of a table that is there': { isThere: true, sink: { write_mode: 'overwrite' } },
  'a limit': { limit: 100 },
  'a limit that cuts': { limit: 2 },
  'a limit that cuts behind a filter': { limit: 2, transforms: [KEEPS_ALL] },
  upsert: { sink: KEYED },
  'an upsert with a marker': { sink: MARKED },
  'an upsert with a marker, with threads': {
    sink: MARKED,
    transforms: [KEEPS_ALL],
    threads: true,
  },
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
  { sink, transforms, batch, graph, more }: Way,
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
      ...more,
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

async function copied(columns: readonly Made[], way: Way): Promise<void> {
  await withDatabases(async (from, into) => {
    const lines = columns.map(({ type }, index) => `c${index} ${type}`);
    const length = Math.max(...columns.map(({ values }) => values.length));
    const rows = Array.from(
      { length },
      (_, row) => `(${[row, ...columns.map(({ values }) => values[row] ?? 'NULL')].join(', ')})`,
    );
    const create = `CREATE TABLE t (id INTEGER, ${lines.join(', ')})`;
    if (way.isThere === true) await into.ask(create);
    await from.ask(create, `INSERT INTO t VALUES ${rows.join(', ')}`);
    const plan = planOfTree(documentOf(from.path, into.path, way));
    const outcome = await run(plan, {
      ...(way.limit === undefined ? {} : { limit: way.limit }),
      ...(way.threads === undefined ? {} : { threads: 1, threadsFromBytes: 0 }),
    });
    expect(outcome.error).toBeNull();
    if (way.limit !== undefined) await from.ask(`DELETE FROM t WHERE id >= ${way.limit}`);
    expect(await digest(into)).toEqual(await digest(from));
  });
}

test.each(Object.entries(ways))('all types at once, through %s', async (_name, way) => {
  await copied(
    Object.entries(VALUES).map(([type, values]) => ({ type, values })),
    way,
  );
});

test.each(Object.entries(ways))('through %s', async (_name, way) => {
  await fc.assert(
    fc.asyncProperty(table, (columns) => copied(columns, way)),
    { numRuns: way.threads === true ? 2 : 4 },
  );
});

/** What a record in JSON Lines cannot say, or says in another order, is left out. */
const NOT_IN_JSON = /JSON|HUGEINT|^DECIMAL\(38,38\)/;
const FIELDS = Object.entries(VALUES).filter(([type]) => !NOT_IN_JSON.test(type));

test.each([
  ['parquet', FIELDS.filter(([type]) => !/DATE|TIMESTAMP/.test(type))],
  [
    'jsonl',
    [...FIELDS, ['STRUCT(j JSON, l JSON[])', [`{'j': '1.0', 'l': ['[1.50,{"b":1e5}]', NULL]}`]]],
  ],
] as const)('through a file of %s and back', async (kind, types) => {
  await withDatabases(async (from, into) => {
    const columns = types.map(([type, values], index) => ({ name: `c${index}`, type, values }));
    const lines = columns.map(({ name, type }) => `${name} ${type}`);
    const length = Math.max(...columns.map(({ values }) => values.length));
    const rows = Array.from(
      { length },
      (_, row) => `(${[row, ...columns.map(({ values }) => values[row] ?? 'NULL')].join(', ')})`,
    );
    const create = `CREATE TABLE t (id INTEGER, ${lines.join(', ')})`;
    await into.ask(create);
    await from.ask(create, `INSERT INTO t VALUES ${rows.join(', ')}`);
    const path = join(folder, `${(files += 1)}.${kind}`);
    const file: JsonObject =
      kind === 'jsonl' ? { path } : { destination: { type: 'local_path', path } };
    const again: JsonObject =
      kind === 'jsonl' ? { path } : { source: { type: 'local_path', path } };
    const query = { database: from.path, query: 'SELECT * FROM t ORDER BY id' };
    const written = { database: into.path, table_name: 't', column_mapping: 'auto_map' };
    for (const pipeline of [
      { source: { type: 'duckdb', config: query }, sink: { type: kind, config: file } },
      { source: { type: kind, config: again }, sink: { type: 'duckdb', config: written } },
    ])
      expect((await run(planOfTree({ pipeline }))).error).toBeNull();
    expect(await digest(into)).toEqual(await digest(from));
  });
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
