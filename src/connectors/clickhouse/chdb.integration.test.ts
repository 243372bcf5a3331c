/** Types and loads of new servers, with the engine of one. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { chdb } from '../../../test/servers/chdb.ts';
import { makeBucket, minio, s3Client, S3_KEYS } from '../../../test/servers/object-stores.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import { hasTypeForm } from '../../kit/typed-values.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { clickhouseSink, clickhouseSource } from './index.ts';

describe.skipIf(chdb.reason !== undefined)(`chdb ${chdb.reason ?? ''}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startOf(chdb);
  }, 90_000);
  afterAll(() => server.stop());

  async function ask(statement: string): Promise<string> {
    const answer = await fetch(server.url, { method: 'POST', body: statement });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  }
  const read = (query: string, more: JsonObject = {}, bookmark?: JsonValue) =>
    runSource(
      clickhouseSource,
      { url: server.url, query, ...more },
      bookmark === undefined ? {} : { bookmark },
    );

  async function write(
    config: JsonObject,
    records: readonly JsonValue[],
    schema?: RecordSchema,
  ): Promise<void> {
    const checked = check(clickhouseSink.config, { url: server.url, ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await clickhouseSink.open(checked.value, sinkContext());
    try {
      await sink.write(Page.ofRecords([...records], { schema }), { partial: false });
      await sink.flush();
      await sink.finish('success');
    } finally {
      await sink.close();
    }
  }

  const TYPES: readonly (readonly [type: string, sql: string, value: JsonValue])[] = [
    ['Bool', 'true', true],
    ['Int64', '-9223372036854775808', -9_223_372_036_854_775_808n],
    [
      'UInt256',
      "toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935')",
      '115792089237316195423570985008687907853269984665640564039457584007913129639935',
    ],
    [
      'Int128',
      "toInt128('-170141183460469231731687303715884105728')",
      '-170141183460469231731687303715884105728',
    ],
    [
      'Decimal(76, 10)',
      "toDecimal256('123456789012345678901234567890.5', 10)",
      '123456789012345678901234567890.5000000000',
    ],
    ['Float64', 'nan', 'NaN'],
    ['Float32', '-inf', '-Infinity'],
    ['Date32', "toDate32('1925-01-01')", '1925-01-01'],
    [
      "DateTime64(3, 'Europe/Berlin')",
      "toDateTime64('2024-10-27 00:30:00.125', 3, 'UTC')",
      '2024-10-27T00:30:00.125Z',
    ],
    [
      "DateTime64(9, 'UTC')",
      "toDateTime64('1900-01-01 00:00:00.000000001', 9, 'UTC')",
      '1900-01-01T00:00:00.000000001Z',
    ],
    [
      "DateTime('America/New_York')",
      "toDateTime('2024-05-06 07:08:09', 'UTC')",
      '2024-05-06T07:08:09Z',
    ],
    ['LowCardinality(Nullable(String))', "'x'", 'x'],
    ['UUID', "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", '61f0c404-5cb3-11e7-907b-a6006ad3dba0'],
    ['IPv6', "'::1'", '::1'],
    ["Enum8('a' = 1, 'b' = 2)", "'b'", 'b'],
    ['FixedString(3)', "'abc'", 'abc'],
    ['Array(Nullable(Decimal(9, 2)))', '[1.5, NULL]', ['1.50', null]],
    ['Array(Array(UInt64))', '[[18446744073709551615], []]', [[18_446_744_073_709_551_615n], []]],
    [
      'Tuple(a Int64, `b c` Nullable(String))',
      '(9223372036854775807, NULL)',
      { a: 9_223_372_036_854_775_807n, 'b c': null },
    ],
    ['Map(String, Array(Int8))', "map('k', [1])", { k: [1] }],
    [
      'Map(Int32, DateTime64(3))',
      "map(7, toDateTime64('2024-05-06 07:08:09.5', 3, 'UTC'))",
      [{ key: 7, value: '2024-05-06T07:08:09.500Z' }],
    ],
    [
      'JSON',
      `'{"deep": {"n": 9007199254740993, "l": ["x"]}}'`,
      { deep: { n: 9_007_199_254_740_993n, l: ['x'] } },
    ],
    ['Nullable(Int8)', 'NULL', null],
  ];

  test.each(TYPES)(
    '%s is read as its type, and written back the same',
    async (type, sql, value) => {
      const [from, to] = [
        `f${TYPES.findIndex((one) => one[0] === type)}`,
        `t${TYPES.findIndex((one) => one[0] === type)}`,
      ];
      await ask(`CREATE TABLE ${from} (v ${type}) ENGINE = MergeTree() ORDER BY tuple()`);
      await ask(`INSERT INTO ${from} SELECT ${sql}`);
      const { records, pages } = await read(`SELECT * FROM ${from}`);
      expect(records).toEqual([{ v: value }]);
      const [page] = pages;
      const [field] = page?.schema?.fields ?? [];
      expect(field?.native?.name).toBe(type);
      if (field !== undefined) expect(hasTypeForm(value, field.type)).toBe(true);
      await write({ table: to }, records, page?.schema);
      expect((await read(`SELECT * FROM ${to}`)).records).toEqual(records);
      const made = await ask(`SELECT type FROM system.columns WHERE table = '${to}' FORMAT TSVRaw`);
      expect(made.trim()).toBe(type);
    },
  );

  it('reads on after the last value of each type that increases', async () => {
    await ask(
      `CREATE TABLE inc (id Int32, at DateTime64(3, 'Europe/Berlin'), d Decimal(10, 2), day Date, s String) ENGINE = MergeTree() ORDER BY tuple()`,
    );
    await ask(
      `INSERT INTO inc SELECT number, toDateTime64('2024-05-06 07:08:09.125', 3, 'UTC') + number, number / 4, toDate('2024-01-01') + number, toString(number) FROM numbers(9)`,
    );
    const initial: Record<string, JsonValue> = {
      id: 0,
      at: '2024-01-01T00:00:00Z',
      d: 0,
      day: '2000-01-01',
      s: '',
    };
    for (const [column, initial_value] of Object.entries(initial)) {
      const replication = { type: 'incremental', column, initial_value };
      const { records, bookmark } = await read('SELECT * FROM inc', { replication });
      expect([column, records.length]).toEqual([column, 9]);
      const rest = await read('SELECT * FROM inc', { replication }, bookmark);
      expect([column, rest.records]).toEqual([column, []]);
    }
  });

  it('fills in the defaults of columns that a record lacks, in one INSERT', async () => {
    await ask(
      `CREATE TABLE defaults (id Int32, n Int32 DEFAULT 7) ENGINE = MergeTree() ORDER BY id`,
    );
    await write({ table: 'defaults' }, [{ id: 1 }, { id: 2, n: 3 }]);
    expect((await read('SELECT * FROM defaults ORDER BY id')).records).toEqual([
      { id: 1, n: 7 },
      { id: 2, n: 3 },
    ]);
  });

  describe.skipIf(minio.reason !== undefined)(`and MinIO ${minio.reason ?? ''}`, () => {
    let store: TestServer;
    beforeAll(async () => {
      store = await startOf(minio);
      await makeBucket(store.url, 'staging');
    }, 90_000);
    afterAll(() => store.stop());

    const staging = (more: JsonObject = {}): JsonObject => ({
      location: 's3://staging/some folder',
      endpoint: store.url,
      access_key: S3_KEYS.accessKeyId,
      secret_key: S3_KEYS.secretAccessKey,
      ...more,
    });
    const objects = async (): Promise<number> => {
      const command = new ListObjectsV2Command({ Bucket: 'staging' });
      return (await s3Client(store.url).send(command)).KeyCount ?? 0;
    };
    const records = [
      { id: 1, v: 'a "b", c\n\\N', d: '1.50', at: '2024-05-06T07:08:09.125Z' },
      { id: 2, v: null, d: null, at: null },
    ];
    const columns =
      "id Int32, v Nullable(String), d Nullable(Decimal(9, 2)), at Nullable(DateTime64(3, 'UTC'))";

    it.each([
      ['jsonl', 'none'],
      ['jsonl', 'gzip'],
      ['jsonl', 'zstd'],
      ['csv', 'none'],
      ['csv', 'gzip'],
    ])('loads objects of %s, compressed by %s, and removes them', async (format, compression) => {
      const table = `staged_${format}_${compression}`;
      await ask(`CREATE TABLE ${table} (${columns}) ENGINE = MergeTree() ORDER BY id`);
      const options = { format, compression, copy_options: { max_insert_threads: 1 } };
      await write({ table, staging: staging(options) }, records);
      expect((await read(`SELECT * FROM ${table} ORDER BY id`)).records).toEqual(records);
      expect(await objects()).toBe(0);
    });

    it('keeps or removes the object of a load that failed, and shows no key', async () => {
      await ask(
        `CREATE TABLE strict (id Int32, CONSTRAINT c CHECK id < 2) ENGINE = MergeTree() ORDER BY id`,
      );
      const failed = (cleanup: string): Promise<unknown> =>
        write(
          { table: 'strict', staging: staging({ cleanup }) },
          records.map(({ id }) => ({ id })),
        ).then(
          () => 'nothing',
          (error: unknown) => error,
        );
      const error = await failed('always');
      expect(error).toMatchObject({
        kind: 'data',
        message: expect.stringMatching(/[Cc]onstraint/),
      });
      expect(JSON.stringify(error) + String(error)).not.toContain(S3_KEYS.secretAccessKey);
      expect(await objects()).toBe(0);
      await failed('on_success');
      expect(await objects()).toBe(1);
      await write({ table: 'strict', staging: staging({ cleanup: 'never' }) }, [{ id: 1 }]);
      expect(await objects()).toBe(2);
    });

    it('refuses lists in CSV', async () => {
      await ask('CREATE TABLE lists (l Array(Int8)) ENGINE = MergeTree() ORDER BY tuple()');
      const config = { table: 'lists', staging: staging({ format: 'csv' }) };
      await expect(write(config, [{ l: [1] }])).rejects.toThrow(/which CSV has no form for/);
    });
  });
});
