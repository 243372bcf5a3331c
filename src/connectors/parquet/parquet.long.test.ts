import * as fc from 'fast-check';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteFile } from 'hyparquet-writer';
import { decompressLz4Raw } from 'hyparquet-compressors';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COLUMNS_LANE, Page, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { FinishReason } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { duckdbRows, openDuckdb } from '../../lib/sql/duckdb.ts';
import { csvPages } from '../_files/csv/csv-pages.ts';
import { lz4Block } from '../_files/compression/lz4.ts';
import { learnColumns } from '../_files/typed/column-kinds.ts';
import { PARQUET_CODECS } from '../_files/parquet/parquet-file.ts';
import { ParquetOutput } from '../_files/parquet/parquet-writer.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { parquetSink, parquetSource } from './index.ts';

const NANOSECONDS = { kind: 'timestamp', unit: 'ns' } as const;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-parquet-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function write(
  value: JsonObject,
  pages: JsonValue[][],
  reason: FinishReason = 'success',
  context = testContext(folder),
  schema?: RecordSchema,
): Promise<void> {
  const checked = check(parquetSink.config, {
    destination: { type: 'local_path', path: 'f.parquet' },
    ...value,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await parquetSink.open(checked.value, context);
  try {
    for (const page of pages) {
      await sink.write(Page.ofRecords(page, { schema }), { partial: false });
      await sink.flush();
    }
    await sink.finish(reason);
  } finally {
    await sink.close();
  }
}

async function queried(sql: string): Promise<unknown[][]> {
  const db = await openDuckdb(':memory:');
  try {
    return (await db.connection.runAndReadAll(sql)).getRowsJson();
  } finally {
    db.close();
  }
}

async function readPages(value: JsonObject = {}): Promise<JsonValue[][]> {
  const checked = check(parquetSource.config, {
    source: { type: 'local_path', path: 'f.parquet' },
    ...value,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await parquetSource.open(checked.value, testContext(folder));
  const pages: JsonValue[][] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE })) pages.push([...page.records()]);
  return pages;
}

describe('parquet files', () => {
  const records: JsonObject[] = [
    {
      id: 1,
      big: 9_007_199_254_740_993n,
      ratio: 0.5,
      ok: true,
      name: 'é',
      tags: ['a', 'b'],
      at: { x: 1, y: [{ z: 'q' }] },
    },
    { id: -2, big: 1, ratio: 2, ok: false, name: '', tags: [], at: { x: 2, y: [] } },
    { id: 3 },
  ];

  it.each(['snappy', 'uncompressed', 'gzip', 'zstd', 'lz4'])(
    'come back as they were written with %s',
    async (compression) => {
      await write({ compression }, [records]);
      expect((await readPages()).flat()).toEqual(records);
      expect(await readdir(folder)).toEqual(['f.parquet']);
    },
  );

  it('hold any flat records', async () => {
    const record = fc.record(
      {
        i: fc
          .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
          .map((n) => (n >= -9007199254740991n && n <= 9007199254740991n ? Number(n) : n)),
        s: fc.string({ unit: 'grapheme' }),
        b: fc.boolean(),
        l: fc.array(fc.string()),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        async (all, row_group_size) => {
          if (all.every((one) => Object.keys(one).length === 0)) return;
          await write({ row_group_size }, [all]);
          expect((await readPages()).flat()).toEqual(all.map((one) => ({ ...one })));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('of a known type hold floats as floats, whatever the first values are', async () => {
    const schema: RecordSchema = {
      fields: [
        { name: 'x', type: { kind: 'float64' }, nullable: true },
        { name: 'n', type: { kind: 'int64' }, nullable: true },
      ],
    };
    const pages = [
      [{ x: 1, n: null }],
      [
        { x: 2.5, n: null },
        { x: 'NaN', n: 1 },
        { x: '-Infinity', n: 2 },
      ],
    ];
    await write({}, pages, 'success', testContext(folder), schema);
    const query = `SELECT x::text AS x, n::text AS n, typeof(x) AS type, typeof(n) AS n_type FROM '${join(folder, 'f.parquet')}'`;
    expect(await queried(query)).toEqual([
      ['1.0', null, 'DOUBLE', 'BIGINT'],
      ['2.5', null, 'DOUBLE', 'BIGINT'],
      ['nan', '1', 'DOUBLE', 'BIGINT'],
      ['-inf', '2', 'DOUBLE', 'BIGINT'],
    ]);
  });

  it('hold nested records', async () => {
    const inner = fc.record({ z: fc.string(), n: fc.integer() }, { requiredKeys: ['z'] });
    const record = fc.record(
      {
        id: fc.integer(),
        s: fc.record({ a: fc.integer(), in: inner }),
        l: fc.array(inner),
        m: fc.array(fc.array(fc.integer())),
      },
      { requiredKeys: ['id'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (all) => {
        await write({ row_group_size: 3 }, [all]);
        expect((await readPages()).flat()).toEqual(all);
      }),
      { numRuns: 200 },
    );
  });

  it('written elsewhere keep decimals, times and large numbers exact', async () => {
    const schema: SchemaElement[] = [
      { name: 'root', num_children: 7 },
      {
        name: 'd',
        type: 'INT64',
        converted_type: 'DECIMAL',
        scale: 2,
        precision: 18,
        repetition_type: 'OPTIONAL',
      },
      { name: 'day', type: 'INT32', converted_type: 'DATE', repetition_type: 'OPTIONAL' },
      {
        name: 'at',
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'NANOS' },
        repetition_type: 'OPTIONAL',
      },
      {
        name: 'local',
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' },
        repetition_type: 'OPTIONAL',
      },
      { name: 'time', type: 'INT32', converted_type: 'TIME_MILLIS', repetition_type: 'OPTIONAL' },
      { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
      { name: 'f', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
    ];
    const data: [string, unknown[]][] = [
      ['d', [123_456_789_012_345_678n, -5n, null]],
      ['day', [0, -1, null]],
      ['at', [1_700_000_000_123_456_789n, -1n, null]],
      ['local', [1_700_000_000_000_000n, 500_000n, null]],
      ['time', [3_723_004, 0, null]],
      ['bytes', [Uint8Array.of(255, 0), new Uint8Array(), null]],
      ['f', [Number.NaN, -Infinity, null]],
    ];
    parquetWriteFile({
      filename: join(folder, 'f.parquet'),
      schema,
      columnData: data.map(([name, values]) => ({ name, data: values })),
    });
    expect((await readPages()).flat()).toEqual([
      {
        d: '1234567890123456.78',
        day: '1970-01-01',
        at: '2023-11-14T22:13:20.123456789Z',
        local: '2023-11-14T22:13:20',
        time: '01:02:03.004',
        bytes: '/wA=',
        f: 'NaN',
      },
      {
        d: '-0.05',
        day: '1969-12-31',
        at: '1969-12-31T23:59:59.999999999Z',
        local: '1970-01-01T00:00:00.500',
        time: '00:00:00',
        bytes: '',
        f: '-Infinity',
      },
      {},
    ]);
  });

  it('cut pages at row groups; batch size 0 gives one page per row group', async () => {
    await write({ row_group_size: 5 }, [Array.from({ length: 12 }, (_, id) => ({ id }))]);
    expect((await readPages({ batch_size: 4 })).map((page) => page.length)).toEqual([
      4, 1, 4, 1, 2,
    ]);
    expect((await readPages({ batch_size: 0 })).map((page) => page.length)).toEqual([5, 5, 2]);
  });

  it('give only the columns asked for and name an unknown one', async () => {
    await write({}, [[{ a: 1, b: 2 }]]);
    expect((await readPages({ columns: ['b'] })).flat()).toEqual([{ b: 2 }]);
    expect((await failureOf(readPages({ columns: ['c'] }))).message).toContain(
      'no column called "c"',
    );
  });

  it('read by pattern must share one schema', async () => {
    await write({ destination: { type: 'local_path', path: 'd/a.parquet' } }, [[{ id: 1 }]]);
    await write({ destination: { type: 'local_path', path: 'd/b.parquet' } }, [[{ id: 2 }]]);
    const source = { type: 'glob', pattern: 'd/*.parquet' };
    expect((await readPages({ source, concurrency: 1 })).flat()).toEqual([{ id: 1 }, { id: 2 }]);
    await write({ destination: { type: 'local_path', path: 'd/c.parquet' } }, [[{ id: 'x' }]]);
    expect((await failureOf(readPages({ source }))).message).toMatch(
      /differ in the field "id": int64 in .*a\.parquet, .*c\.parquet/,
    );
    expect(
      await failureOf(readPages({ source: { type: 'glob', pattern: 'd/*.pq' } })),
    ).toMatchObject({ kind: 'missing' });
  });

  it('that are no Parquet are refused', async () => {
    await writeFile(join(folder, 'f.parquet'), 'not parquet at all');
    expect(await failureOf(readPages())).toMatchObject({ kind: 'data' });
    expect(
      await failureOf(readPages({ source: { type: 'local_path', path: 'none' } })),
    ).toMatchObject({ kind: 'missing' });
  });
});

describe('the parquet sink', () => {
  it.each<FinishReason>(['failed', 'cancelled'])(
    'keeps what was written readable when the run is %s',
    async (reason) => {
      await write({}, [[{ id: 1 }], [{ id: 2 }]], reason);
      expect((await readPages()).flat()).toEqual([{ id: 1 }, { id: 2 }]);
    },
  );

  it('leaves no file under the final name when it is closed without an end', async () => {
    const failure = await failureOf(
      write({ schema: { sample_size: 1 } }, [[{ id: 1 }], [{ id: 'x' }]]),
    );
    expect(failure).toEqual({
      kind: 'data',
      message: 'the field "id" is integer, but a record has string there',
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['f.parquet', 'parts'])(
    'does not say that it keeps records which do not fit into their columns (%s)',
    async (path) => {
      const config = check(parquetSink.config, { destination: { type: 'local_path', path } });
      if (!config.ok) throw new Error(JSON.stringify(config.issues));
      const sink = await parquetSink.open(config.value, testContext(folder));
      const fields = [{ name: 'at', type: NANOSECONDS, nullable: true }];
      const page = Page.ofRecords([{ at: '0001-01-01T00:00:00' }], { schema: { fields } });
      const hint = expect.stringContaining('wider type') as string;
      try {
        await sink.write(page, { partial: false });
        const end = path === 'parts' ? sink.flush() : sink.finish('success');
        await expect(end).rejects.toMatchObject({ code: 'connector_data', hint });
        await expect(sink.flush()).rejects.toMatchObject({ hint });
        await expect(sink.write(page, { partial: false })).rejects.toMatchObject({ hint });
        await sink.finish('failed');
        expect(sink.discarded?.()).toBe(path === 'f.parquet');
        expect(sink.outputs?.()).toEqual([]);
      } finally {
        await sink.close();
      }
      const files = await readdir(folder, { recursive: true });
      expect(files.filter((name) => name.endsWith('.parquet'))).toEqual([]);
    },
  );

  it('makes a file per flush in a folder, and new files at the caps', async () => {
    await write({ destination: { type: 'local_path', path: 'lake' } }, [[{ id: 1 }], [{ id: 2 }]]);
    expect(await readdir(join(folder, 'lake'))).toHaveLength(2);
    const context = testContext(folder);
    await write(
      {
        destination: { type: 'local_path', path: 'caps/f.parquet' },
        max_rows_per_file: 1,
        schema: { sample_size: 1 },
      },
      [[{ id: 1 }], [{ id: 2 }]],
      'success',
      context,
    );
    expect(await readdir(join(folder, 'caps'))).toHaveLength(2);
    expect(context.lines.some((line) => line.line.includes('several files'))).toBe(true);
  });

  it('drops fields that come after the columns are fixed, with one warning each', async () => {
    const context = testContext(folder);
    await write(
      { schema: { sample_size: 1 } },
      [
        [{ a: 1 }],
        [
          { a: 2, b: 1 },
          { a: 3, b: 2 },
        ],
      ],
      'success',
      context,
    );
    expect((await readPages()).flat()).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
    expect(context.lines.filter((line) => line.line.includes('field=b'))).toHaveLength(1);
  });

  it('tells the engine that one single file is durable only at its end', () => {
    const durable = (value: JsonObject) => {
      const checked = check(parquetSink.config, value);
      return checked.ok && parquetSink.capabilities(checked.value).flushDurable;
    };
    expect(durable({ destination: { type: 'local_path', path: 'f.parquet' } })).toBe(false);
    expect(durable({ destination: { type: 'local_path', path: 'lake' } })).toBe(true);
    expect(
      durable({ destination: { type: 'local_path', path: 'f.parquet' }, max_rows_per_file: 5 }),
    ).toBe(true);
  });

  it('refuses what is not available, by name', () => {
    const codes = (value: JsonObject) => {
      const checked = check(parquetSink.config, value);
      return checked.ok ? [] : checked.issues.map((issue) => `${issue.code} ${issue.path}`);
    };
    const plain = { type: 's3', bucket: 'b', endpoint_url: 'http://minio:9000' };
    expect(codes({ destination: plain })).toEqual(['invalid_value destination.endpoint_url']);
    expect(codes({ destination: { ...plain, allow_http: true } })).toEqual([]);
    expect(
      codes({ destination: { type: 'local_path', path: 'x' }, schema: { type: 'explicit' } }),
    ).toEqual(['not_available schema.type']);
    for (const what of [{}, { key: 'k', prefix: 'p' }])
      expect(
        check(parquetSource.config, { source: { type: 's3', bucket: 'b', ...what } }),
      ).toMatchObject({ ok: false });
  });

  it('writes nothing when there is nothing', async () => {
    await write({}, [[]]);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('parquet files from delimited text', () => {
  async function pagesOf(text: string, lane: Lane, records: number): Promise<Page[]> {
    const shape = {
      dialect: { delimiter: 44, quote: 34 },
      hasHeaders: true,
      flexible: true,
      nullValues: ['NULL'],
    };
    async function* blocks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text);
    }
    const bounds = { records, bytes: 1024 * 1024 };
    const pages: Page[] = [];
    for await (const page of csvPages(blocks(), {
      shape,
      lane,
      bounds,
      signal: new AbortController().signal,
      name: 'x.csv',
    }))
      pages.push(page);
    return pages;
  }

  const cell = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      'NULL',
      '',
      '\u0001\u001f',
      '\\',
      '"',
      'a\nb',
      '\r',
      ',',
      'x'.repeat(12),
      'é'.repeat(7),
    ),
  );
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const row = fc.array(cell, { minLength: 1, maxLength: 4 });

  it('hold the same, whether they came as columns or as records', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, group) => {
          const text = `a,b,c\n${rows.map((cells) => `${cells.map(quoted).join(',')}\n`).join('')}`;
          const context = testContext(folder);
          const file = {
            destination: { type: 'local_path', path: 'f.parquet' },
            row_group_size: group,
            schema: { sample_size: 1 },
          };
          const checked = check(parquetSink.config, file);
          if (!checked.ok) throw new Error('config');
          const sink = await parquetSink.open(checked.value, context);
          // The first page is small: the columns are learned from it, and those after it go over as
          // they are.
          const first = Page.ofRecords([{ a: 'x', b: 'x', c: 'x' }]);
          for (const page of [first, ...(await pagesOf(text, COLUMNS_LANE, 7))])
            await sink.write(page, { partial: false });
          await sink.finish('success');
          const records = (await pagesOf(text, RECORDS_LANE, 1000)).flatMap((page) => [
            ...page.records(),
          ]) as JsonObject[];
          const known = records.map((record) =>
            Object.fromEntries(
              Object.entries(record).filter(
                ([name, value]) => 'abc'.includes(name) && value !== null,
              ),
            ),
          );
          expect((await readPages()).flat().slice(1)).toEqual(known);
          const dropped = context.lines.filter((line) => line.line.includes('field='));
          expect(dropped).toHaveLength(rows.some((cells) => cells.length > 3) ? 1 : 0);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('may have pages of more rows than the engine takes at once', async () => {
    const text = `a,b\n${Array.from({ length: 5000 }, (_, id) => `${id},"a ""quoted"" text of ${id}"\n`).join('')}`;
    const checked = check(parquetSink.config, {
      destination: { type: 'local_path', path: 'f.parquet' },
      schema: { sample_size: 1 },
    });
    if (!checked.ok) throw new Error('config');
    const sink = await parquetSink.open(checked.value, testContext(folder));
    for (const page of [
      Page.ofRecords([{ a: '', b: '' }]),
      ...(await pagesOf(text, COLUMNS_LANE, 1_000_000)),
    ])
      await sink.write(page, { partial: false });
    await sink.finish('success');
    expect((await readPages({ batch_size: 0 })).flat().slice(1)).toEqual(
      Array.from({ length: 5000 }, (_, id) => ({ a: String(id), b: `a "quoted" text of ${id}` })),
    );
  });
});

describe('joined row groups', () => {
  it('are found by their statistics and filters', async () => {
    const records = Array.from({ length: 1000 }, (_, id) => ({
      id,
      name: `n${id % 7}`,
      ratio: id / 8,
    }));
    await write({ row_group_size: 100 }, [records]);
    const { connection, close } = await openDuckdb(':memory:');
    const file = `'${join(folder, 'f.parquet')}'`;
    const one = async (sql: string) => (await duckdbRows(connection, sql))[0];
    expect(
      await one(
        `SELECT num_rows AS rows, num_row_groups AS groups FROM parquet_file_metadata(${file})`,
      ),
    ).toEqual({
      rows: 1000,
      groups: 10,
    });
    expect(await one(`SELECT name, ratio FROM ${file} WHERE id = 777`)).toEqual({
      name: 'n0',
      ratio: 97.125,
    });
    expect(await one(`SELECT count(*) AS n FROM ${file} WHERE name = 'n3'`)).toEqual({ n: 143 });
    expect(await one(`SELECT count(*) AS n FROM ${file} WHERE ratio > 124`)).toEqual({ n: 7 });
    const places = await duckdbRows(
      connection,
      `SELECT stats_min_value AS low, stats_max_value AS high FROM parquet_metadata(${file}) WHERE path_in_schema = 'id' ORDER BY row_group_id`,
    );
    expect(places.map(({ low, high }) => [low, high])).toEqual(
      Array.from({ length: 10 }, (_, group) => [String(group * 100), String(group * 100 + 99)]),
    );
    close();
  });
});

describe('without the analytical engine', () => {
  const records: JsonObject[] = [
    {
      id: 1,
      big: 9_007_199_254_740_993n,
      ratio: 0.5,
      ok: true,
      name: 'é',
      tags: ['a', 'b'],
      at: { x: 1, y: [{ z: 'q' }] },
    },
    { id: 3 },
  ];

  it.each(PARQUET_CODECS)('files are written with %s as well', async (codec) => {
    const output = await ParquetOutput.create({
      path: join(folder, 'f.parquet'),
      columns: learnColumns(records),
      codec,
      rowGroupSize: 1,
      onDropped: () => {},
    });
    await output.add(records);
    await output.finish();
    expect((await readPages()).flat()).toEqual(records);
  });
});

describe('lz4 blocks', () => {
  it('unpack to what was packed', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 1, max: 700 }))
        .map(([byte, n]) => new Uint8Array(n).fill(byte)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.boolean(), (pieces, twice) => {
        // The reading library does not take an empty block; Parquet has none.
        const once = Buffer.concat([Buffer.from('x'), ...pieces]);
        const input = twice ? Buffer.concat([once, once]) : once;
        expect(Buffer.from(decompressLz4Raw(lz4Block(input), input.length))).toEqual(input);
      }),
    );
    expect(lz4Block(new Uint8Array(10_000)).length).toBeLessThan(100);
  });
});
