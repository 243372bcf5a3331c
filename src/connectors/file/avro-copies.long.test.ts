/** What goes into an Avro file comes out of it, whatever stands between: types and values. */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avro from 'avsc';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { openDuckdb } from '../../lib/sql/duckdb.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject } from '../../lib/text/json.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-avro-copies-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const fresh = (extension: string): string => join(folder, `${(files += 1)}.${extension}`);

type Schema = string | JsonObject;
const long = (logicalType: string): Schema => ({ type: 'long', logicalType });
const decimal = (precision: number, scale: number): Schema => ({
  type: 'bytes',
  logicalType: 'decimal',
  precision,
  scale,
});
const anyLong = fc.oneof(
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 9007199254740993n, 0n),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);
/** In nanoseconds, all moments of the type. */
const moment = fc.oneof(
  anyLong,
  fc.constantFrom(1_714_979_289_123_456_789n, -1n, 253_402_300_800_000_000n),
);
const unscaled = (digits: number) =>
  fc
    .bigInt({ min: -(10n ** BigInt(digits)) + 1n, max: 10n ** BigInt(digits) - 1n })
    .map((value) => {
      let length = 1;
      while (BigInt.asIntN(length * 8, value) !== value) length += 1;
      const hex = BigInt.asUintN(length * 8, value).toString(16);
      return Buffer.from(hex.padStart(length * 2, '0'), 'hex');
    });
const bytes = fc.uint8Array({ maxLength: 9 }).map((array) => Buffer.from(array));
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('1.10', 'null', '{"a": 1}', 'AP8=', '2024-01-01', 'NaN', ''),
);
const field = (name: string, type: Schema): JsonObject => ({
  name,
  type: ['null', type],
  default: null,
});

/** Types with the values that the library has for them. */
const TYPES: readonly (readonly [Schema, fc.Arbitrary<unknown>])[] = [
  ['boolean', fc.boolean()],
  ['int', fc.integer()],
  ['long', anyLong],
  ['float', fc.float()],
  ['double', fc.double()],
  ['bytes', bytes],
  ['string', text],
  [decimal(5, 2), unscaled(5)],
  [decimal(38, 0), unscaled(38)],
  [{ type: 'int', logicalType: 'date' }, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [long('time-micros'), fc.bigInt({ min: 0n, max: 86_399_999_999n })],
  [long('timestamp-millis'), fc.bigInt({ min: -(2n ** 43n), max: 2n ** 43n })],
  [long('timestamp-micros'), moment],
  [long('timestamp-nanos'), moment],
  [long('local-timestamp-millis'), fc.bigInt({ min: -(2n ** 43n), max: 2n ** 43n })],
  [long('local-timestamp-micros'), moment],
  [long('local-timestamp-nanos'), moment],
  [{ type: 'string', logicalType: 'uuid' }, fc.uuid()],
  [{ type: 'string', logicalType: 'json' }, fc.constantFrom('1.0', 'null', '{"b":1, "a":[2.50]}')],
  [{ type: 'array', items: ['null', 'bytes'] }, fc.array(fc.option(bytes), { maxLength: 3 })],
  [
    { type: 'map', values: ['null', decimal(9, 3)] },
    fc.dictionary(fc.constantFrom('a', 'b c', '', '10', '9'), fc.option(unscaled(9))),
  ],
];

interface Made {
  readonly types: readonly Schema[];
  readonly records: readonly (readonly unknown[])[];
}

const made: fc.Arbitrary<Made> = fc
  .array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 7 })
  .chain((types) =>
    fc.record({
      types: fc.constant(types.map(([type]) => type)),
      records: fc.array(fc.tuple(...types.map(([, value]) => fc.option(value, { freq: 5 }))), {
        minLength: 1,
        maxLength: 9,
      }),
    }),
  );

const plainLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64LE(value);
    return buffer;
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => Number(a - b),
});
const isLong = (type: unknown): boolean =>
  type === 'long' || (type as { type?: unknown } | null)?.type === 'long';
const typeOf = (schema: unknown): avro.Type =>
  avro.Type.forSchema(schema as never, {
    typeHook: (one) => (isLong(one) ? plainLong : undefined),
    wrapUnions: 'never',
  });

/** Values in the form in which `assert` tells what differs. */
function shown(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (typeof value === 'bigint' || Object.is(value, -0))
    return `${Object.is(value, -0) ? '-' : ''}${String(value)}`;
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one)]));
}

/** The library reads the container; the schema of the header tells the logical types. */
async function digest(path: string): Promise<unknown> {
  const decoder = new avro.streams.BlockDecoder({ parseHook: typeOf });
  let fields: unknown;
  decoder.on(
    'metadata',
    (_type: unknown, _codec: unknown, header: { meta: Record<string, Buffer> }) => {
      fields = JSON.parse(String(header.meta['avro.schema'])).fields;
    },
  );
  const values: unknown[] = [];
  decoder.on('data', (value: unknown) => values.push(shown(value)));
  const ended = new Promise((resolve, reject) => {
    decoder.on('end', resolve);
    decoder.on('error', reject);
  });
  decoder.end(await readFile(path));
  await ended;
  return { fields, values };
}

async function write({ types, records }: Made): Promise<string> {
  const path = fresh('avro');
  const fields = [field('id', 'int'), ...types.map((type, index) => field(`c${index}`, type))];
  const schema = { type: 'record', name: 'record', fields };
  const type = typeOf(schema);
  const values = records.map((record, id) =>
    type.toBuffer({
      id,
      ...Object.fromEntries(record.map((value, index) => [`c${index}`, value])),
    }),
  );
  const [n, s] = [avro.Type.forSchema('long'), avro.Type.forSchema('string')];
  const sync = Buffer.alloc(16, 7);
  const data = Buffer.concat(values);
  const head = [Buffer.from('Obj\u0001'), n.toBuffer(1), s.toBuffer('avro.schema')];
  const rest = [s.toBuffer(JSON.stringify(schema)), n.toBuffer(0), sync];
  const block = [n.toBuffer(values.length), n.toBuffer(data.length), data, sync];
  await writeFile(path, Buffer.concat([...head, ...rest, ...block]));
  return path;
}

const file = (path: string, config: JsonObject = {}): JsonObject => ({
  type: 'file',
  config: { path, ...config },
});

async function move(pipeline: JsonObject, { limit, threads }: Way = {}): Promise<void> {
  const plan = planOfTree({ pipeline });
  const outcome = await run(plan, {
    ...(limit === undefined ? {} : { limit }),
    ...(threads === undefined ? {} : { threads: 1, threadsFromBytes: 0 }),
  });
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
}

const EVERYTHING = { type: 'filter', config: { path: 'id', op: 'exists' } };
interface Way {
  readonly source?: JsonObject;
  readonly sink?: JsonObject;
  readonly pipeline?: JsonObject;
  readonly limit?: number;
  /** They are asked for; records go without them. */
  readonly threads?: true;
}
const WAYS: Readonly<Record<string, Way>> = {
  'no stage': {},
  'a filter that keeps all': { pipeline: { transforms: [EVERYTHING] } },
  threads: { pipeline: { transforms: [EVERYTHING] }, threads: true },
  'pages of two records': { source: { batch_size: 2 } },
  'a limit': { limit: 1000 },
  overwrite: { sink: { write_mode: 'overwrite' } },
  'deflated blocks': { sink: { avro: { codec: 'deflate' } } },
  'a graph of nodes': {
    pipeline: {
      nodes: {
        read: { kind: 'source' },
        all: { kind: 'transform', transforms: [EVERYTHING] },
        write: { kind: 'sink' },
      },
      edges: [
        { from: 'read', to: 'all' },
        { from: 'all', to: 'write' },
      ],
    },
  },
};

describe.each(Object.entries(WAYS))('Avro to Avro, with %s', (_name, way) => {
  test('the copy has the same schema and values', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(made, async (table) => {
        const [from, into] = [await write(table), fresh('avro')];
        const { source = {}, sink = {}, pipeline = {} } = way;
        await move({ source: file(from, source), sink: file(into, sink), ...pipeline }, way);
        expect(await digest(into)).toEqual(await digest(from));
      }),
      { numRuns: way.threads === true ? 6 : 25, seed: randomInt(2 ** 31) },
    );
  });
});

/** As the engine reads it. */
async function engine(path: string): Promise<unknown[]> {
  const { connection, close } = await openDuckdb(':memory:');
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const types = await connection.runAndReadAll(`DESCRIBE SELECT * FROM '${path}'`);
    const rows = await connection.runAndReadAll(
      `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '${path}'`,
    );
    return [types.getRowsJson(), rows.getRowsJson()];
  } finally {
    close();
  }
}

test('Parquet to Avro to Parquet has the same columns and values', async () => {
  const [from, between, into] = [fresh('parquet'), fresh('avro'), fresh('parquet')];
  const { connection, close } = await openDuckdb(':memory:');
  await connection.run(`COPY (SELECT true AS flag, 3 AS i32, 9007199254740993 AS i64, 0.1::FLOAT AS f32,
    'nan'::DOUBLE AS f64, -0.0::DOUBLE AS zero, 1e17::DOUBLE AS whole, 1.10::DECIMAL(5,2) AS d5,
    1234567890123456789012345678.0123456789::DECIMAL(38,10) AS d38, 'é' AS t, '1.10' AS n,
    '\\x00\\xFF'::BLOB AS b, DATE '0044-03-15 (BC)' AS day, TIME '07:08:09.5' AS clock,
    TIMESTAMP '1969-12-31 23:59:59.999999' AS wall, TIMESTAMP_MS '2024-05-06 07:08:09.123' AS ms,
    TIMESTAMP_NS '2024-05-06 07:08:09.123456789' AS ns, TIMESTAMPTZ '2024-05-06 07:08:09.5+02' AS at,
    UUID '00112233-4455-6677-8899-aabbccddeeff' AS u, '{"a": [1.0,  null]}'::JSON AS j,
    'null'::JSON AS jn, [1, NULL] AS l, [['\\x00'::BLOB], []] AS ll,
    {'a': DATE '2024-01-01', 'b': {'d': 1.5::DECIMAL(4,1), 'e': NULL::INTEGER}} AS s,
    MAP {'k': TIMESTAMP '2024-01-01'} AS m) TO '${from}' (FORMAT parquet)`);
  close();
  await move({ source: file(from), sink: file(between) });
  await move({ source: file(between), sink: file(into) });
  expect(await engine(into)).toEqual(await engine(from));
});

describe('PostgreSQL to Avro to PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let client: Client;
  beforeAll(async () => {
    database = await freshDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const table = (name: string): JsonObject => ({
    type: 'postgres',
    config: { connection_url: database.url, table_name: name, column_mapping: 'auto_map' },
  });
  const rows = async (name: string): Promise<unknown> =>
    (await client.query(`SELECT t::text FROM ${name} AS t ORDER BY id`)).rows;

  test('a table like it has the same rows, and one that is created the same types', async () => {
    await client.query(`CREATE TABLE one (id int, flag boolean, big bigint, small smallint, r real,
      d double precision, n numeric(12,2), any_n numeric, t text, b bytea, day date, clock time,
      wall timestamp, at timestamptz, u uuid, j json, jb jsonb, nums int[], texts text[])`);
    await client.query(`INSERT INTO one VALUES
      (1, true, 9007199254740993, -1, 0.1, 'NaN', 1.10, 12345678901234567890.1234567890, 'é', '\\x00ff',
       '0044-03-15 BC', '07:08:09.123456', '12024-12-31 23:59:59.999999', '2024-05-06 07:08:09.000001+02',
       '0189c0de-0000-7000-8000-000000000000', '{"b":1.0,  "a":null}', '{"a":1.50}', '{1,NULL,3}', '{a,"b c",NULL}'),
      (2, NULL, -9223372036854775808, 5, 16777217, '-0', -9999999999.99, 0.00, '1.10', '', '2024-02-29', '00:00:00',
       '0001-12-31 23:59:59.1 BC', '0044-03-15 00:00:00+00 BC', NULL, 'null', 'null', '{}', '{}'),
      (3, NULL, NULL, NULL, NULL, 1e17, NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`);
    await client.query('CREATE TABLE two (LIKE one)');
    const path = fresh('avro');
    const query = { connection_url: database.url, query: 'SELECT * FROM one ORDER BY id' };
    await move({ source: { type: 'postgres', config: query }, sink: file(path) });
    await move({ source: file(path), sink: table('two') });
    expect(await rows('two')).toEqual(await rows('one'));
    const created = {
      type: 'postgres',
      config: { ...(table('three')['config'] as JsonObject), create_table: true },
    };
    await move({ source: file(path), sink: created });
    const { rows: types } = await client.query<{ name: string; type: string }>(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = 'three'::regclass AND attnum > 0 ORDER BY attnum`,
    );
    expect(Object.fromEntries(types.map(({ name, type }) => [name, type]))).toEqual({
      id: 'integer',
      flag: 'boolean',
      big: 'bigint',
      small: 'integer',
      r: 'real',
      d: 'double precision',
      n: 'numeric(12,2)',
      any_n: 'text',
      t: 'text',
      b: 'bytea',
      day: 'date',
      clock: 'time without time zone',
      wall: 'timestamp without time zone',
      at: 'timestamp with time zone',
      u: 'uuid',
      j: 'jsonb',
      jb: 'jsonb',
      nums: 'integer[]',
      texts: 'text[]',
    });
  });
});
