import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Page } from '../../kit/page.ts';
import type { RecordField, RecordSchema } from '../../kit/record-schema.ts';
import { parseType } from '../../kit/type-text.ts';
import { check } from '../../kit/schema.ts';
import { JSON_NULL, withSourceText } from '../../lib/text/json-literal.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { openDuckdb } from '../../lib/sql/duckdb.ts';
import { learnColumns } from '../_files/typed/column-kinds.ts';
import { ParquetEngineOutput } from '../_files/parquet/parquet-engine-writer.ts';
import { ParquetOutput } from '../_files/parquet/parquet-writer.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { fileSink } from '../file/index.ts';
import { parquetSink } from './index.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-typed-'));
  path = join(folder, 'f.parquet');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function field(name: string, type: string): RecordField {
  const parsed = parseType(type);
  if (parsed === undefined) throw new Error(`no type ${type}`);
  return { name, type: parsed, nullable: true };
}

/** Type, a value in its record form, the type that DuckDB finds, and the value as its text. */
const COLUMNS: readonly (readonly [string, JsonValue, string, string])[] = [
  ['bool', true, 'BOOLEAN', 'true'],
  ['int8', -128, 'TINYINT', '-128'],
  ['int16', -32768, 'SMALLINT', '-32768'],
  ['int32', -2147483648, 'INTEGER', '-2147483648'],
  ['int64', -(2n ** 63n), 'BIGINT', '-9223372036854775808'],
  ['uint8', 255, 'UTINYINT', '255'],
  ['uint16', 65535, 'USMALLINT', '65535'],
  ['uint32', 4294967295, 'UINTEGER', '4294967295'],
  ['uint64', 2n ** 64n - 1n, 'UBIGINT', '18446744073709551615'],
  ['float32', 1.5, 'FLOAT', '1.5'],
  ['float64', 2, 'DOUBLE', '2.0'],
  ['float64', 'NaN', 'DOUBLE', 'nan'],
  ['decimal(5, 2)', '-1.50', 'DECIMAL(5,2)', '-1.50'],
  [
    'decimal(38, 10)',
    '1234567890123456789012345678.0123456789',
    'DECIMAL(38,10)',
    '1234567890123456789012345678.0123456789',
  ],
  ['decimal(9, 3)', '1.5e2', 'DECIMAL(9,3)', '150.000'],
  ['decimal', '1.10', 'VARCHAR', '1.10'],
  ['utf8', 'é', 'VARCHAR', 'é'],
  ['binary', 'AP8=', 'BLOB', '\\x00\\xFF'],
  ['date', '1582-10-14', 'DATE', '1582-10-14'],
  ['date', '0044-03-15 BC', 'DATE', '0044-03-15 (BC)'],
  ['time', '23:59:59.123456', 'TIME', '23:59:59.123456'],
  ['timestamp(ms)', '2024-05-06T07:08:09.123', 'TIMESTAMP', '2024-05-06 07:08:09.123'],
  ['timestamp(us)', '1969-12-31T23:59:59.999999', 'TIMESTAMP', '1969-12-31 23:59:59.999999'],
  [
    'timestamp(ns)',
    '2024-05-06T07:08:09.123456789',
    'TIMESTAMP_NS',
    '2024-05-06 07:08:09.123456789',
  ],
  [
    'timestamp(us, UTC)',
    '2024-05-06T07:08:09.5Z',
    'TIMESTAMP WITH TIME ZONE',
    '2024-05-06 07:08:09.5+00',
  ],
  [
    'timestamp(ms, UTC)',
    '2024-05-06T07:08:09+02:00',
    'TIMESTAMP WITH TIME ZONE',
    '2024-05-06 05:08:09+00',
  ],
  ['uuid', '00112233-4455-6677-8899-aabbccddeeff', 'UUID', '00112233-4455-6677-8899-aabbccddeeff'],
  ['interval', 'P1D', 'VARCHAR', 'P1D'],
  ['json', withSourceText({ a: 1 }, '{"a":  1.0}'), 'JSON', '{"a":  1.0}'],
  ['json', JSON_NULL, 'JSON', 'null'],
  ['json', 'text', 'JSON', '"text"'],
  ['list(int16)', [1, null, 2], 'SMALLINT[]', '[1, NULL, 2]'],
  ['list(list(binary))', [['aGk='], [], null], 'BLOB[][]', '[[hi], [], NULL]'],
  ['list(float64)', [1, '-Infinity'], 'DOUBLE[]', '[1.0, -inf]'],
  ['list(json)', [{ a: [1] }, 'x'], 'JSON[]', '[{"a":[1]}, "x"]'],
  [
    'struct(at: timestamp(us), "b c": struct(d: decimal(4, 1)))',
    { at: '2024-01-01T00:00:00', 'b c': { d: '1.5' } },
    'STRUCT("at" TIMESTAMP, "b c" STRUCT(d DECIMAL(4,1)))',
    "{'at': '2024-01-01 00:00:00', 'b c': {'d': 1.5}}",
  ],
  ['map(utf8, date)', { a: '2024-01-01' }, 'MAP(VARCHAR, DATE)', '{a=2024-01-01}'],
  [
    'map(int32, list(uuid))',
    [{ key: 7, value: ['00112233-4455-6677-8899-aabbccddeeff'] }],
    'MAP(INTEGER, UUID[])',
    '{7=[00112233-4455-6677-8899-aabbccddeeff]}',
  ],
];

const SCHEMA: RecordSchema = { fields: COLUMNS.map(([type], index) => field(`c${index}`, type)) };
const EMPTY: JsonObject = Object.fromEntries(COLUMNS.map((_, index) => [`c${index}`, null]));
const RECORD: JsonObject = Object.fromEntries(
  COLUMNS.map(([, value], index) => [`c${index}`, value]),
);

/** Types and texts of the columns of the file, as an independent reader sees them. */
async function found(): Promise<{ types: unknown[]; rows: unknown[][] }> {
  const { connection, close } = await openDuckdb(':memory:');
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const names = COLUMNS.map((_, index) => `c${index}`);
    const types = names.map((name) => `typeof(${name})`).join(', ');
    const texts = names.map((name) => `CAST(${name} AS VARCHAR)`).join(', ');
    const read = async (sql: string) => (await connection.runAndReadAll(sql)).getRows();
    const [first = []] = await read(`SELECT ${types} FROM '${path}' LIMIT 1`);
    return { types: first, rows: await read(`SELECT ${texts} FROM '${path}'`) };
  } finally {
    close();
  }
}

const EXPECTED = {
  types: COLUMNS.map(([, , type]) => type),
  rows: [COLUMNS.map(() => null), COLUMNS.map(([, , , text]) => text)],
};

async function written(records: readonly JsonObject[], schema: RecordSchema): Promise<void> {
  const checked = check(parquetSink.config, { destination: { type: 'local_path', path } });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await parquetSink.open(checked.value, testContext(folder));
  try {
    for (const record of records)
      await sink.write(Page.ofRecords([record], { schema }), { partial: false });
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

describe('columns of known types', () => {
  it('are written as these types, nulls first or not', async () => {
    await written([EMPTY, RECORD], SCHEMA);
    expect(await found()).toEqual(EXPECTED);
  });

  it('are the same in the file of the smaller library', async () => {
    const output = await ParquetOutput.create({
      path,
      columns: learnColumns([], SCHEMA),
      codec: 'snappy',
      rowGroupSize: 1,
      onDropped: () => {},
    });
    await output.add([EMPTY, RECORD]);
    await output.finish();
    expect(await found()).toEqual(EXPECTED);
  });

  it('are the same in the file of the file sink', async () => {
    const checked = check(fileSink.config, { path });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await fileSink.open(checked.value, testContext(folder));
    await sink.write(Page.ofRecords([EMPTY, RECORD], { schema: SCHEMA }), { partial: false });
    await sink.finish('success');
    await sink.close();
    expect(await found()).toEqual(EXPECTED);
  });

  it.each(['engine', 'smaller library'])(
    'hold both zeros, however often they come, in a file of the %s',
    async (writer) => {
      const zeros = Array.from({ length: 400 }, (_, index) => (index % 2 === 0 ? 0 : -0));
      const records = zeros.map((d) => ({ d, f: d, l: [d], s: { d } }));
      const fields = ['float64', 'float32', 'list(float32)', 'struct(d: float64)'].map(
        (type, index) => field('dfls'[index] ?? '', type),
      );
      const Output = writer === 'engine' ? ParquetEngineOutput : ParquetOutput;
      const output = await Output.create({
        path,
        columns: learnColumns([], { fields }),
        codec: 'snappy',
        rowGroupSize: 1000,
        onDropped: () => {},
      });
      await output.add(records);
      await output.finish();
      const { connection, close } = await openDuckdb(':memory:');
      const result = await connection.runAndReadAll(`SELECT d, f, l[1], s.d FROM '${path}'`);
      close();
      expect(result.getRows()).toEqual(zeros.map((zero) => [zero, zero, zero, zero]));
    },
  );

  it('stand in the order of the schema, with others where the records have them', async () => {
    await written([{ id: 1, at: '2024-01-01', z: 'x' }], {
      fields: [field('never', 'int32'), field('at', 'date')],
      others: true,
    });
    const { connection, close } = await openDuckdb(':memory:');
    const result = await connection.runAndReadAll(`SELECT * FROM '${path}'`);
    expect(result.columnNames()).toEqual(['id', 'never', 'at', 'z']);
    close();
  });

  it.each([
    ['timestamp(us)', '2024-01-01T00:00:00.123456789'],
    ['timestamp(us)', 'infinity'],
    ['timestamp(ns)', '2300-01-01T00:00:00'],
    ['time', '00:00:00.123456789'],
    ['date', '2024-02-30'],
    ['decimal(5, 2)', '1.255'],
    ['decimal(5, 2)', '1000'],
    ['decimal(5, 2)', 'NaN'],
    ['uint8', 256],
    ['binary', 'not base64'],
  ])('%s does not take %s: nothing is rounded', async (type, value) => {
    const failure = await failureOf(written([{ x: value }], { fields: [field('x', type)] }));
    expect(failure).toEqual({
      kind: 'data',
      message: `the field "x" is ${type}, which cannot hold ${value}`,
    });
  });

  it('holds whole numbers that a double rounds, and fractions, as text', async () => {
    await written(
      [
        { x: 2n ** 53n + 1n, y: 2n ** 54n },
        { x: 2.5, y: 2.5 },
      ],
      { fields: [], others: true },
    );
    const { connection, close } = await openDuckdb(':memory:');
    const result = await connection.runAndReadAll(`SELECT x, y FROM '${path}'`);
    expect(result.getRowsJson()).toEqual([
      ['9007199254740993', 18014398509481984],
      ['2.5', 2.5],
    ]);
    close();
  });

  it('refuses a large whole number that comes after fractions', async () => {
    const records = [...Array.from({ length: 200 }, () => ({ x: 2.5 })), { x: 2n ** 53n + 1n }];
    expect(await failureOf(written(records, { fields: [], others: true }))).toEqual({
      kind: 'data',
      message: 'the field "x" is number, which cannot hold 9007199254740993',
    });
  });

  it('keep the bounds of row groups right', async () => {
    const values = ['99999999999999999.99', '0.01'];
    await written(
      values.map((d) => ({ d, b: '//8=' })),
      { fields: [field('d', 'decimal(19, 2)'), field('b', 'binary')] },
    );
    const { connection, close } = await openDuckdb(':memory:');
    for (const value of values) {
      const query = `SELECT count(*) FROM '${path}' WHERE d = ${value} AND b = from_base64('//8=')`;
      expect((await connection.runAndReadAll(query)).getRows()).toEqual([[1n]]);
    }
    close();
  });

  it('cannot be of two types in one file', async () => {
    const checked = check(parquetSink.config, { destination: { type: 'local_path', path } });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await parquetSink.open(checked.value, testContext(folder));
    const page = (type: string) =>
      Page.ofRecords([{ x: 'aGk=' }], { schema: { fields: [field('x', type)] } });
    await sink.write(page('binary'), { partial: false });
    expect((await failureOf(sink.write(page('utf8'), { partial: false }))).message).toBe(
      'the field "x" is binary, but a record has string there',
    );
    await sink.close();
  });
});
