import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetMetadata, type FileMetaData, type SchemaElement } from 'hyparquet';
import { ByteWriter, parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../../../../test/fakes/failure.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { pageCodecs } from './parquet-codecs.ts';
import { ParquetReader } from './parquet-reader.ts';
import { decodeVariant } from './parquet-variant.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parquet-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(bytes: Buffer, columns?: string[]): Promise<JsonObject[]> {
  const reader = await ParquetReader.ofBytes(bytes, {
    path: 'f.parquet',
    signal: new AbortController().signal,
    columns,
    omitNulls: false,
  });
  const records: JsonObject[] = [];
  for (let group = 0; group < reader.rowGroups; group += 1)
    for await (const batch of reader.rowGroup(group)) records.push(...batch);
  return records;
}

/** The file that an SQL query makes. */
async function made(query: string, options = ''): Promise<Buffer> {
  const path = join(folder, 'f.parquet');
  const engine = await (await DuckDBInstance.create()).connect();
  await engine.run(`copy (${query}) to '${path}' (format parquet ${options})`);
  engine.closeSync();
  return readFileSync(path);
}

/** A file of the plain writer. */
function written(columnData: ColumnSource[], schema?: SchemaElement[]): Buffer {
  return Buffer.from(
    parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED', ...(schema && { schema }) }),
  );
}

const TAIL_BYTES = 8;

/** The same pages under another footer. */
function withFooter(file: Buffer, change: (metadata: FileMetaData) => void): Buffer {
  const bytes = new Uint8Array(file).buffer;
  const metadata = parquetMetadata(bytes);
  change(metadata);
  const footer = new ByteWriter();
  writeMetadata(footer, metadata);
  const pages = file.subarray(0, file.length - metadata.metadata_length - TAIL_BYTES);
  return Buffer.concat([pages, footer.getBytes(), Buffer.from('PAR1')]);
}

describe('values of the type VARIANT', () => {
  it.each<[string, JsonValue]>([
    ['42', 42],
    [`9223372036854775807::bigint`, 9_223_372_036_854_775_807n],
    [`'text'`, 'text'],
    [`'${'long '.repeat(20)}'`, 'long '.repeat(20)],
    ['true', true],
    ['1.5::double', 1.5],
    [`'nan'::double`, 'NaN'],
    ['1.25::decimal(4, 2)', '1.25'],
    ['-12345678901234567890.123456789::decimal(38, 9)', '-12345678901234567890.123456789'],
    [`date '2024-01-02'`, '2024-01-02'],
    [`time '01:02:03.5'`, '01:02:03.500'],
    [`timestamp '2024-01-02 03:04:05.678901'`, '2024-01-02T03:04:05.678901'],
    [`timestamptz '2024-01-02 03:04:05.678901+00'`, '2024-01-02T03:04:05.678901Z'],
    [`'\\x00\\xff'::blob`, 'AP8='],
    [`uuid '00112233-4455-6677-8899-aabbccddeeff'`, '00112233-4455-6677-8899-aabbccddeeff'],
    [
      `{'a': 1.50::decimal(4, 2), 'b': [1, null], 'c': {'d': 'e'}}`,
      { a: '1.50', b: [1, null], c: { d: 'e' } },
    ],
    ['null', null],
  ])('%s', async (expression, value) => {
    expect(await read(await made(`select (${expression})::variant as v`))).toEqual([{ v: value }]);
  });

  it('are put together of the columns into which they were shredded', async () => {
    const file = await made(
      `select {'id': i, 'd': (i / 4)::decimal(9, 2), 'l': [i], 'more': 'm' || i}::variant as v from range(2) t(i)
       union all select 'no object'::variant union all select null`,
      `, shredding {'v': 'STRUCT(id BIGINT, d DECIMAL(9, 2), l BIGINT[])'}`,
    );
    expect(await read(file)).toEqual([
      { v: { id: 0, d: '0.00', l: [0], more: 'm0' } },
      { v: { id: 1, d: '0.25', l: [1], more: 'm1' } },
      { v: 'no object' },
      { v: null },
    ]);
  });
});

it('intervals are ISO 8601', async () => {
  const file = await made(`select interval '14 months 3 days 2500 milliseconds' as span
    union all select interval '0 days' union all select null`);
  expect(await read(file)).toEqual([{ span: 'P14M3DT2.5S' }, { span: 'P0M0DT0S' }, { span: null }]);
});

describe('a text that is not UTF-8', () => {
  const file = (letters: string, type: SchemaElement['converted_type']): Buffer => {
    const schema: SchemaElement[] = [
      { name: 'root', num_children: 1 },
      { name: 's', type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' },
    ];
    const data = ['"a"', letters].map((text) => new Uint8Array(Buffer.from(text, 'latin1')));
    return withFooter(written([{ name: 's', data }], schema), (metadata) => {
      metadata.schema[1] = { ...(metadata.schema[1] as SchemaElement), converted_type: type };
    });
  };

  it.each(['UTF8', 'ENUM', 'JSON'] as const)('of %s is refused, not changed', async (type) => {
    await expect(read(file('"\u00e4"', type))).rejects.toMatchObject({
      message: 'cannot read f.parquet as Parquet: the column "s" has a text that is not UTF-8',
      hint: 'leave it out with `columns`, or have the file written with UTF-8, or with a column of bytes',
    });
  });

  it('is not one with the letter that stands for wrong bytes', async () => {
    const letter = Buffer.from('"\ufffd"').toString('latin1');
    expect((await read(file(letter, 'UTF8')))[1]).toEqual({ s: '"\ufffd"' });
  });
});

describe('the types of the columns of files that are read together', () => {
  async function typesOf(file: Buffer): Promise<unknown> {
    const { signal } = new AbortController();
    const options = { path: 'f.parquet', signal, omitNulls: false };
    return Object.fromEntries((await ParquetReader.ofBytes(file, options)).columns);
  }

  it('tell local times from instants, and integers by width and sign', async () => {
    const columns = `1::tinyint i, 1::ubigint u, timestamp '2024-01-01' t, [timestamptz '2024-01-01 00:00:00+00'] z`;
    expect(await typesOf(await made(`select ${columns}`))).toEqual({
      i: 'int8',
      u: 'uint64',
      t: 'timestamp(us)',
      z: 'list(timestamp(us, UTC))',
    });
  });

  it('are the same with annotations of old writers and of new ones', async () => {
    const file = await made(
      `select 'a' s, 1.5::decimal(9, 2) d, 1::bigint n, timestamptz '2024-01-01 00:00:00+00' z`,
    );
    const old = withFooter(file, (metadata) => {
      for (const element of metadata.schema) delete element.logical_type;
    });
    expect(await typesOf(old)).toEqual(await typesOf(file));
  });
});

describe('a document', () => {
  it('keeps all digits of its numbers', async () => {
    const text = '{"a":0.10000000000000000001,"b":[1.50,-0.0],"c":12345678901234567890}';
    const [record] = await read(await made(`select '${text}'::json j`));
    expect(stringifyJson(record ?? null)).toBe(`{"j":${text}}`);
  });

  it.each([
    ['{bad', 'a text that is not JSON (at position 1)'],
    ['[1e400]', 'a text that has a number beyond the range of numbers'],
  ])('that is none is told as such, and without its text: %s', async (text, why) => {
    const file = withFooter(await made(`select '${text}' j`), (metadata) => {
      const element = metadata.schema[1] as SchemaElement;
      metadata.schema[1] = { ...element, converted_type: 'JSON' };
    });
    await expect(read(file)).rejects.toMatchObject({
      message: `cannot read f.parquet as Parquet: the column "j" has ${why}`,
      hint: 'leave it out with `columns`, or have the file written with JSON, or with a column of texts',
    });
  });
});

describe('a damaged VARIANT', () => {
  const NO_NAMES = Uint8Array.of(1, 0, 0);
  /** An array of two values of which both are the same bytes: those of the array behind it. */
  const twice = (levels: number): Uint8Array =>
    Uint8Array.from([...Array.from({ length: levels }, () => [3, 2, 0, 0, 1]).flat(), 0]);

  it('with values that share their bytes is refused: each level would double them', () => {
    expect(() => decodeVariant(NO_NAMES, twice(40))).toThrow('values that share their bytes');
  });

  it('with too many levels is refused', () => {
    const levels = Array.from({ length: 60_000 }, () => [3, 1, 0, 1]).flat();
    const deep = Uint8Array.from([...levels, 0]);
    expect(() => decodeVariant(NO_NAMES, deep)).toThrow('more than 500 levels');
  });
});

describe('old forms of nesting', () => {
  /** A required list of required numbers, whose levels are those of a repeated number. */
  const list = (): Buffer =>
    written(
      [{ name: 'l', data: [[1, 2], [], [3]] }],
      [
        { name: 'root', num_children: 1 },
        { name: 'l', repetition_type: 'REQUIRED', num_children: 1, converted_type: 'LIST' },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'REQUIRED', type: 'INT32' },
      ],
    );

  it('a repeated field without a list around it is a list, also when it is empty', async () => {
    const file = withFooter(list(), (metadata) => {
      metadata.schema = [
        { name: 'root', num_children: 1 },
        { name: 'l', repetition_type: 'REPEATED', type: 'INT32' },
      ];
      for (const { meta_data: data } of metadata.row_groups[0]?.columns ?? [])
        if (data !== undefined) data.path_in_schema = ['l'];
    });
    expect(await read(file)).toEqual([{ l: [1, 2] }, { l: [] }, { l: [3] }]);
  });

  it('a list of two levels is a list', async () => {
    const file = withFooter(list(), (metadata) => {
      metadata.schema = [
        { name: 'root', num_children: 1 },
        { name: 'l', repetition_type: 'REQUIRED', num_children: 1, converted_type: 'LIST' },
        { name: 'array', repetition_type: 'REPEATED', type: 'INT32' },
      ];
      for (const { meta_data: data } of metadata.row_groups[0]?.columns ?? [])
        if (data !== undefined) data.path_in_schema = ['l', 'array'];
    });
    expect(await read(file)).toEqual([{ l: [1, 2] }, { l: [] }, { l: [3] }]);
  });

  it('a repeated group is a list of objects, with or without a list around it', async () => {
    const groups = await made(
      `select * from (values ([{'a': 1, 'b': 'x'}, {'a': 2, 'b': null}]), ([]), (null)) t(g)`,
    );
    const rename = (metadata: FileMetaData, schema: SchemaElement[], path: readonly string[]) => {
      metadata.schema = schema;
      for (const { meta_data: data } of metadata.row_groups[0]?.columns ?? [])
        if (data !== undefined)
          data.path_in_schema = [...path, data.path_in_schema.at(-1) as string];
    };
    const field = (name: string, type: SchemaElement['type']): SchemaElement => ({
      name,
      repetition_type: 'OPTIONAL',
      type,
      ...(type === 'BYTE_ARRAY' ? { converted_type: 'UTF8' as const } : {}),
    });
    // The levels of: optional list, repeated group, optional struct, optional field.
    const file = withFooter(groups, (metadata) =>
      rename(
        metadata,
        [
          { name: 'root', num_children: 1 },
          { name: 'o', repetition_type: 'OPTIONAL', num_children: 1 },
          { name: 'g', repetition_type: 'REPEATED', num_children: 1 },
          { name: 's', repetition_type: 'OPTIONAL', num_children: 2 },
          field('a', 'INT32'),
          field('b', 'BYTE_ARRAY'),
        ],
        ['o', 'g', 's'],
      ),
    );
    const items = [{ s: { a: 1, b: 'x' } }, { s: { a: 2, b: null } }];
    expect(await read(file)).toEqual([{ o: { g: items } }, { o: { g: [] } }, { o: null }]);
  });
});

describe('columns that a record would lose', () => {
  const file = written([
    { name: 'a', data: [1], type: 'INT32' },
    { name: 'b', data: [2], type: 'INT32' },
  ]);
  const called = (name: string): Buffer =>
    withFooter(file, (metadata) => {
      const [, , element] = metadata.schema;
      if (element !== undefined) element.name = name;
      const data = metadata.row_groups[0]?.columns[1]?.meta_data;
      if (data !== undefined) data.path_in_schema = [name];
    });

  it('are refused by name', async () => {
    expect(await failureOf(read(called('a')))).toMatchObject({
      kind: 'data',
      message: 'f.parquet has two columns called "a"',
    });
    expect(await failureOf(read(called('__proto__')))).toMatchObject({
      kind: 'data',
      message: 'f.parquet has a column called "__proto__", which cannot be read',
    });
  });

  it('do not matter when they are not read', async () => {
    expect(await read(called('__proto__'), ['a'])).toEqual([{ a: 1 }]);
    expect(await read(called('constructor'))).toEqual([{ a: 1, constructor: 2 }]);
  });
});

it('a text that begins with U+FEFF keeps it', async () => {
  const file = await made(`select chr(65279) || 'a' as s`);
  expect(await read(file)).toEqual([{ s: '\ufeffa' }]);
});

describe('pages', () => {
  it('that are missing are never taken for nulls', async () => {
    const file = written([
      { name: 'a', data: [1, 2, 3], type: 'INT32' },
      { name: 'b', data: [4, 5, 6], type: 'INT32' },
    ]);
    const cut = withFooter(file, (metadata) => {
      const data = metadata.row_groups[0]?.columns[1]?.meta_data;
      if (data !== undefined) data.total_compressed_size = 1n;
    });
    expect(await failureOf(read(cut))).toMatchObject({
      kind: 'data',
      message: 'cannot read f.parquet as Parquet: the column "b" is damaged',
    });
    expect(await read(cut, ['a'])).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
  });

  it('of writers that forgot the header of the dictionary are read in full', async () => {
    const data = Array.from({ length: 1000 }, (_, index) => `text ${index % 3}`);
    const file = written([{ name: 's', data, type: 'STRING' }]);
    for (const writer of ['parquet-mr', 'parquet-mr version 1.2.8 (build x)']) {
      const short = withFooter(file, (metadata) => {
        metadata.created_by = writer;
        const chunk = metadata.row_groups[0]?.columns[0]?.meta_data;
        if (chunk !== undefined) chunk.total_compressed_size -= 14n;
      });
      expect((await read(short)).map((row) => row['s'])).toEqual(data);
    }
    const damaged = withFooter(file, (metadata) => {
      metadata.created_by = 'parquet-mr version 1.10.0 (build x)';
      const chunk = metadata.row_groups[0]?.columns[0]?.meta_data;
      if (chunk !== undefined) chunk.total_compressed_size -= 14n;
    });
    expect((await failureOf(read(damaged))).message).toContain('the column "s" is damaged');
  });

  it('without a byte decompress to nothing, and huge ones are refused', async () => {
    for (const [name, decompress] of Object.entries(await pageCodecs())) {
      expect(decompress?.(new Uint8Array(), 0), name).toHaveLength(0);
      expect(() => decompress?.(new Uint8Array(1), 2 ** 30), name).toThrow(
        'a page of 1073741824 bytes, where at most 536870912 can be read',
      );
    }
  });
});

describe('a file that cannot be read', () => {
  const whole = (): Buffer => written([{ name: 'a', data: [1, 2, 3], type: 'INT32' }]);
  it.each<[string, () => Buffer, string]>([
    ['is empty', () => Buffer.alloc(0), 'it is empty'],
    ['is text', () => Buffer.from('hello, world'), 'it does not begin as a Parquet file does'],
    ['has no end', () => whole().subarray(0, 40), 'its footer is missing: it is cut off'],
    ['is only its marks', () => Buffer.from('PAR1PAR1'), 'it is cut off'],
    ['has an encrypted footer', () => Buffer.from('PARE....PARE'), 'it is encrypted'],
    [
      'has too long a footer',
      () => Buffer.from('PAR1\u00ff\u00ff\u00ff\u007fPAR1', 'latin1'),
      'its footer is damaged',
    ],
    [
      'has a broken footer',
      () => {
        const bytes = whole();
        const { metadata_length: length } = parquetMetadata(new Uint8Array(bytes).buffer);
        bytes.fill(0xff, bytes.length - TAIL_BYTES - length, bytes.length - TAIL_BYTES - 40);
        return bytes;
      },
      'its footer is damaged',
    ],
    [
      'counts fewer than no rows',
      () => withFooter(whole(), (metadata) => void (metadata.num_rows = -3n)),
      'its footer is damaged: it counts fewer than no rows',
    ],
    [
      'has a row group that counts fewer than no rows',
      () =>
        withFooter(whole(), ({ row_groups: [group] }) => {
          if (group !== undefined) group.num_rows = -1n;
        }),
      'its footer is damaged: it counts fewer than no rows',
    ],
    [
      'has a broken page',
      () => {
        const bytes = whole();
        bytes.fill(0xff, 4, 20);
        return bytes;
      },
      'the column "a" is damaged',
    ],
    [
      'has an encrypted column',
      () => readFileSync(join(import.meta.dirname, 'fixtures/encrypted-column.parquet')),
      'the column "secret" is encrypted',
    ],
  ])('%s, and the message says so', async (_title, bytes, why) => {
    const failure = await failureOf(read(bytes()));
    expect(failure).toMatchObject({
      kind: 'data',
      message: expect.stringMatching(/^cannot read f\.parquet as Parquet: /),
    });
    expect(failure.message).toContain(why);
  });

  it('may still have columns that can be read', async () => {
    const bytes = readFileSync(join(import.meta.dirname, 'fixtures/encrypted-column.parquet'));
    expect(await read(bytes, ['plain'])).toEqual([{ plain: 1 }, { plain: 2 }]);
  });
});
