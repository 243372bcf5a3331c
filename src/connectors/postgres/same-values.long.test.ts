/**
 * The lane never decides a value: a table copied to another one is the same table, whatever stands
 * between them. Tables are made at random, and the server itself compares them.
 */
import { randomInt } from 'node:crypto';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { load } from '../../../test/fakes/documents.ts';
import { run } from '../../../test/fakes/engine.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { createParts } from '../../kit/parts.ts';
import { TRANSFORMS } from '../../transforms/index.ts';
import { postgresSink, postgresSource } from './index.ts';

const parts = createParts({
  sources: [postgresSource],
  sinks: [postgresSink],
  transforms: TRANSFORMS,
  states: [],
  credentials: [],
  secrets: [],
});

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let tables = 0;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s, "fine"');
    CREATE TYPE pair AS (a int, b text, c bytea);
    CREATE DOMAIN bytes AS bytea; CREATE DOMAIN few_bytes AS bytes CHECK (length(VALUE) < 9);
    CREATE DOMAIN document AS jsonb; CREATE DOMAIN age AS int CHECK (VALUE >= 0)`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Types with values that are hard to carry, as they are written in a statement. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  boolean: ['t', 'f'],
  smallint: ['-32768', '32767', '0'],
  integer: ['-2147483648', '2147483647', '7'],
  bigint: ['-9223372036854775808', '9223372036854775807', '9007199254740993', '0'],
  oid: ['0', '4294967295'],
  real: ['NaN', 'Infinity', '-Infinity', '0.1', '-0', '1e-45', '3.4028235e38', '16777217', '5'],
  'double precision': [
    'NaN',
    'Infinity',
    '-Infinity',
    '-0',
    '0.1',
    '5e-324',
    '1.7976931348623157e308',
    '1e20',
    '9007199254740993',
    '2',
    '0.30000000000000004',
  ],
  numeric: [
    'NaN',
    'Infinity',
    '-Infinity',
    '0.00',
    '-1.10',
    '12345678901234567890.1234567890',
    `${'9'.repeat(600)}.${'1'.repeat(400)}`,
    '1e-30',
  ],
  'numeric(12,2)': ['1.10', '-9999999999.99', '0', 'NaN'],
  text: [
    '',
    ' ',
    'aGk=',
    '\\N',
    '\\x6869',
    'tab\tline\r\n\\',
    '{"a": 1}',
    '[1',
    'null',
    'NaN',
    '1.10',
    'é 𝄞',
    '"',
    '{a,b}',
    'true',
  ],
  'character varying(20)': ['', 'x ', 'abc'],
  'character(5)': ['', 'ab', '  x', 'abcde'],
  '"char"': ['a', '', '\\377'],
  name: ['pg_class', 'a b'],
  bytea: ['\\x', '\\x6869', '\\x00ff5c27', '\\x0a0d'],
  few_bytes: ['\\x', '\\x00', '\\x5c78'],
  date: ['2024-05-06', 'infinity', '-infinity', '0044-03-15 BC', '12024-02-29', '0001-01-01'],
  time: ['00:00:00', '24:00:00', '07:08:09.123456', '23:59:59.9'],
  'time with time zone': ['07:08:09+02', '00:00:00.000001-15:59'],
  timestamp: [
    '2024-05-06 07:08:09',
    'infinity',
    '-infinity',
    '0044-03-15 00:00:00 BC',
    '12024-12-31 23:59:59.999999',
    '1999-12-31 23:59:59.1',
  ],
  'timestamp with time zone': [
    '2024-05-06 07:08:09.000001+02',
    'infinity',
    '-infinity',
    '0044-03-15 00:00:00+00 BC',
    '12024-12-31 23:59:59+00',
  ],
  interval: [
    '1 day',
    '-1 year +2 mons -3 days 04:05:06.789',
    '0',
    'PT0.000001S',
    '178000000 years',
    '-00:00:01',
  ],
  uuid: ['0189c0de-0000-7000-8000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  json: [
    'null',
    '"{}"',
    '{"a":1,  "a" : 2}',
    ' [1.0, 1.50, 1E5, -0] ',
    '"\\u0041\\/"',
    '1.0',
    '{"10":1,"9":2}',
    'true',
    '{"a":{"b":[]}}',
    '"x"',
    '{}',
  ],
  jsonb: [
    'null',
    '"{}"',
    '"[1"',
    '{"a":[1,null],"b":1.50}',
    '1.0',
    '1.10',
    '5',
    '"x"',
    'false',
    '{}',
    '[]',
    '{"10":1,"9":2}',
    '[0.0000001,100000000000000000000]',
  ],
  document: ['null', '{"a":1.0}', '"{}"'],
  age: ['0', '7'],
  mood: ['sad', 'it\'s, "fine"'],
  pair: ['(1,"a,b",)', '(,"",)', '(2,"q""q","\\\\x00ff")'],
  'integer[]': ['{}', '{1,NULL,3}', '{{1,2},{3,4}}', '[2:3]={5,6}'],
  'text[]': ['{}', '{a,"b c",NULL,"NULL","","\\"\\\\"}', '{{"{}"},{"a,b"}}'],
  'bytea[]': ['{"\\\\x00ff",NULL}', '{}'],
  'numeric(5,1)[]': ['{1.0,NaN}'],
  'jsonb[]': ['{"{\\"a\\": 1.0}","null",NULL}'],
  'mood[]': ['{sad,NULL,ok}'],
  'double precision[]': ['{NaN,-0,0.1,-Infinity}'],
  'timestamp with time zone[]': ['{"2024-05-06 07:08:09+00",infinity,"0044-03-15 00:00:00+00 BC"}'],
  int4range: ['empty', '[1,5)', '(,)'],
  tstzrange: ['["2024-01-01 00:00:00+00",infinity)'],
  int4multirange: ['{}', '{[1,3),[5,8)}'],
  'bit(3)': ['101', '000'],
  'bit varying(9)': ['', '10101'],
  money: ['-92233720368547758.08', '1.10'],
  inet: ['10.0.0.1/24', '::1', '10.0.0.1'],
  cidr: ['10.0.0.0/8'],
  macaddr: ['08:00:2b:01:02:03'],
  macaddr8: ['08:00:2b:01:02:03:04:05'],
  tsvector: ["'a':1A 'it''s':2", ''],
  tsquery: ["'a' & !'b'"],
  xml: ['<a b="1">&amp;é</a>', ''],
  point: ['(1,-0)', '(NaN,1e300)'],
  polygon: ['((0,0),(1,1),(2,0))'],
  'box[]': ['{(1,1),(0,0);(3,3),(2,2)}', '{}'],
  pg_lsn: ['16/B374D848'],
  xid8: ['18446744073709551615'],
  jsonpath: ['$."a"[*]'],
};

interface Made {
  readonly types: readonly string[];
  /** One value for each type, or null. */
  readonly rows: readonly (readonly (string | null)[])[];
}

const randomText = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .map((text) => text.replaceAll('\u0000', ''));
const RANDOM: Readonly<Record<string, fc.Arbitrary<string>>> = {
  text: randomText,
  'double precision': fc.double().map(String),
  real: fc.float().map(String),
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  bytea: fc.uint8Array({ maxLength: 9 }).map((bytes) => `\\x${Buffer.from(bytes).toString('hex')}`),
  json: fc
    .jsonValue({ maxDepth: 2 })
    .map((value) => JSON.stringify(value, null, 1).replaceAll('\\u0000', '')),
  numeric: fc
    .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(9))
    .map(([digits, scale]) => `${digits}.${'0'.repeat(scale)}1`),
};

function valueOf(type: string): fc.Arbitrary<string | null> {
  const listed = fc.constantFrom(...(TYPES[type] as readonly string[]));
  return fc.option(RANDOM[type] === undefined ? listed : fc.oneof(listed, RANDOM[type]), {
    freq: 6,
  });
}

const made: fc.Arbitrary<Made> = fc
  .uniqueArray(fc.constantFrom(...Object.keys(TYPES)), { minLength: 1, maxLength: 7 })
  .chain((types) =>
    fc.record({
      types: fc.constant(types),
      rows: fc.array(fc.tuple(...types.map(valueOf)), { minLength: 1, maxLength: 12 }),
    }),
  );

/** A table with every value of every type. */
const ALL: Made = {
  types: Object.keys(TYPES),
  rows: Array.from({ length: 15 }, (_, row) =>
    Object.values(TYPES).map((values) => values[row] ?? null),
  ),
};

function columnOf(index: number): string {
  return `c${index}`;
}

async function make({ types, rows }: Made): Promise<string> {
  const table = `made${(tables += 1)}`;
  const columns = types.map((type, index) => `${columnOf(index)} ${type}`);
  await client.query(
    `CREATE TABLE ${table} (id int PRIMARY KEY, note text, ${columns.join(', ')})`,
  );
  const slots = types.map((type, index) => `$${index + 2}::text::${type}`).join(', ');
  for (const [id, row] of rows.entries())
    await client.query(`INSERT INTO ${table} SELECT $1::int, 'a@b.io', ${slots}`, [id, ...row]);
  return table;
}

interface Way {
  readonly sink?: JsonObject;
  readonly pipeline?: JsonObject;
  readonly limit?: number;
  /** All pages are given to a thread. */
  readonly threads?: true;
  /** `note` is changed on the way. */
  readonly changesNote?: true;
}

const EVERYTHING = { type: 'filter', config: { path: 'id', op: 'exists' } };
const GRAPH: JsonObject = {
  nodes: {
    read: { kind: 'source' },
    all: { kind: 'transform', transforms: [EVERYTHING] },
    write: { kind: 'sink' },
  },
  edges: [
    { from: 'read', to: 'all' },
    { from: 'all', to: 'write' },
  ],
};
const WAYS: Readonly<Record<string, Way>> = {
  'no stage': {},
  'a filter that matches everything': { pipeline: { transforms: [EVERYTHING] } },
  'a graph of nodes': { pipeline: GRAPH },
  threads: { pipeline: { transforms: [EVERYTHING] }, threads: true },
  'a transform of records': {
    pipeline: { transforms: [{ type: 'split', config: { field: 'id', delimiter: ',' } }] },
  },
  'a query over every page': {
    pipeline: { transforms: [{ type: 'sql', config: { query: 'SELECT * FROM batch' } }] },
  },
  overwrite: { sink: { write_mode: 'overwrite' } },
  'a limit': { limit: 1_000_000 },
  'an upsert': { sink: { write_mode: 'upsert', key: ['id'] } },
  'a delete marker': {
    sink: { write_mode: 'upsert', key: ['id'], delete_marker: { field: 'gone', values: ['d'] } },
  },
  'by INSERT': { sink: { write_method: 'insert' }, pipeline: { transforms: [EVERYTHING] } },
  'an upsert by COPY': {
    sink: { write_mode: 'upsert', key: ['id'], write_method: 'copy' },
    pipeline: { transforms: [EVERYTHING] },
  },
  'masking of another column': {
    changesNote: true,
    pipeline: { masking: { rules: [{ match: { fields: ['note'] }, action: { type: 'hash' } }] } },
  },
  'masking by records': {
    changesNote: true,
    pipeline: {
      masking: {
        rules: [{ match: { fields: ['note'] }, action: { type: 'redact', mask: { a: -0 } } }],
      },
    },
  },
};

async function copy(
  from: string,
  to: string,
  { sink, pipeline, limit, threads }: Way,
): Promise<void> {
  const connection = { connection_url: database.url };
  const document = {
    version: 1,
    name: 'copy',
    pipeline: {
      source: {
        type: 'postgres',
        config: { ...connection, query: `SELECT * FROM ${from}`, batch_size: 5 },
      },
      sink: {
        type: 'postgres',
        config: { ...connection, table_name: to, column_mapping: 'auto_map', ...sink },
      },
      ...pipeline,
    },
  };
  const plan = planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
  if (threads === true) expect(plan.rows[0]?.lane.sideBySide).toBe(true);
  const outcome = await run(plan, {
    ...(limit === undefined ? {} : { limit }),
    ...(threads === undefined ? {} : { threads: 1, threadsFromBytes: 0 }),
  });
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
}

/** The rows in which two tables differ, as the server writes them. */
async function difference(
  one: string,
  other: string,
  columns: readonly string[],
): Promise<unknown[]> {
  const rows = (table: string) =>
    `SELECT id, ROW(${columns.map((column) => `${column}::text`).join(', ')})::text AS row FROM ${table}`;
  const { rows: found } = await client.query(
    `(SELECT 'lost' AS what, * FROM (${rows(one)} EXCEPT ALL ${rows(other)}) AS a)
     UNION ALL (SELECT 'new', * FROM (${rows(other)} EXCEPT ALL ${rows(one)}) AS b) ORDER BY 2, 1`,
  );
  return found;
}

async function typesOf(table: string): Promise<string[]> {
  const { rows } = await client.query<{ type: string }>(
    `SELECT attname || ' ' || format_type(coalesce(nullif(b.typbasetype, 0), b.oid, t.oid), CASE WHEN atttypid IN (1700, 1042, 1560) THEN atttypmod END) AS type
     FROM pg_attribute JOIN pg_type AS t ON t.oid = atttypid
     LEFT JOIN pg_type AS b ON b.oid = t.typbasetype WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum`,
    [table],
  );
  return rows.map(({ type }) => type);
}

/** Copies the table in every way, into a table like it and into one that the run creates. */
async function copyInEveryWay(
  table: string,
  { types }: Made,
  ways = Object.keys(WAYS),
): Promise<void> {
  const columns = types.map((_, index) => columnOf(index));
  const found: Record<string, unknown> = {};
  for (const name of ways) {
    const way = WAYS[name] as Way;
    const compared = way.changesNote === true ? columns : ['note', ...columns];
    const [like, created] = [`to${(tables += 1)}`, `to${(tables += 1)}`];
    await client.query(`CREATE TABLE ${like} (LIKE ${table} INCLUDING INDEXES)`);
    for (const to of [like, created]) {
      await copy(table, to, way);
      const rows = await difference(table, to, compared);
      if (rows.length > 0) found[`${name}, into ${to === like ? 'a table' : 'a new table'}`] = rows;
    }
    const [wanted, got] = [await typesOf(table), await typesOf(created)];
    const other = got.filter((type, index) => type !== wanted[index] && !type.startsWith('note '));
    if (other.length > 0) found[`${name}, types`] = other;
    await client.query(`DROP TABLE ${like}, ${created}`);
  }
  expect(found).toEqual({});
}

describe('a table is copied as it is', () => {
  test.each(Object.keys(WAYS))('all types at once: %s', async (way) => {
    await copyInEveryWay(await make(ALL), ALL, [way]);
  });

  test.each([42, randomInt(2 ** 31)])(
    'tables at random, seed %i',
    { timeout: 60_000 },
    async (seed) => {
      await fc.assert(
        fc.asyncProperty(
          made,
          fc.shuffledSubarray(Object.keys(WAYS), { minLength: 3, maxLength: 3 }),
          async (one, ways) => {
            const table = await make(one);
            await copyInEveryWay(table, one, ways);
          },
        ),
        { seed, numRuns: 4 },
      );
    },
  );
});
