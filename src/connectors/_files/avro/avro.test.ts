import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import avro from 'avsc';
import { describe, expect, it } from 'vitest';
import { schemaText } from '../../../kit/type-text.ts';
import {
  setField,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { compressorOf } from './avro-codecs.ts';
import { avroLibrary } from './avro-library.ts';
import { avroRecords } from './avro-records.ts';
import { avroSchemaOf } from './avro-schema.ts';
import { avroRecordSchema } from './avro-types.ts';
import { avroFile } from './avro-writer.ts';

/** Made with fastavro, whose values stand in the tests. */
const UNIONS = join(import.meta.dirname, 'fixtures/unions.avro');

const readWith = (schema: unknown) =>
  schema === undefined ? undefined : { schema, file: undefined };

async function read(path: string, schema?: unknown): Promise<JsonValue[]> {
  const records: JsonValue[] = [];
  const options = { readWith: readWith(schema), name: path, signal: new AbortController().signal };
  for await (const batch of avroRecords(createReadStream(path), { ...options, onSchema: () => {} }))
    records.push(...batch);
  return records;
}

const field = async (name: string): Promise<unknown[]> =>
  (await read(UNIONS)).map((record) => (record as Record<string, unknown>)[name]);

it.each<[string, unknown[]]>([
  ['number', [7, 1.5, 'x', true, 0]],
  ['money', ['5.50', 'free', null, null, null]],
  ['when', ['2024-01-02T03:04:05.000006Z', '2024-01-02', null, null, null]],
  [
    'nested',
    [
      { d: '9.90', k: 'B', more: { d: '1.00', k: 'A', more: 'end' } },
      'A',
      ['1.10', '-2.00'],
      { k: '1969-12-31' },
      null,
    ],
  ],
])('values of the union `%s` have the type of their branch', async (name, values) => {
  expect(await field(name)).toEqual(values);
});

it.each<[string, unknown]>([
  ['sentinel', '+294247-01-10T04:00:54.775807'],
  ['nanos', '2023-11-14T22:13:20.123456789Z'],
  ['span', 'P1M2DT2.5S'],
  ['id', '00000000-0000-0000-0000-000000000007'],
])('the logical type of `%s` is read exactly', async (name, value) => {
  expect((await field(name))[0]).toBe(value);
});

it('a schema to read with may have unions of its own', async () => {
  const schema = {
    type: 'record',
    name: 'Top',
    namespace: 'shop.v1',
    fields: [
      { name: 'nanos', type: ['null', 'string', { type: 'long', logicalType: 'timestamp-nanos' }] },
      { name: 'extra', type: ['null', 'int', 'string'], default: null },
    ],
  };
  expect((await read(UNIONS, schema))[0]).toEqual({
    nanos: '2023-11-14T22:13:20.123456789Z',
    extra: null,
  });
});

/** Blocks of 5000 values, made by the bzip2 and xz modules of Python. */
const PACKED = {
  bzip2: 'QlpoOTFBWSZTWaz0svQAAfPAAFVAIABUM0AmqJp1SDKkG1IPVIOqQcXckU4UJCs9LL0A',
  xz: '/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4BOHACRdAAAAn5W9ntkdqNKFx/fV11wwSSqsACqo2JLyv1D5jYehWnYAAADDofZpWpDVNQABQIgnAAAAZbJ+cLHEZ/sCAAAAAARZWg==',
};

interface Block {
  readonly codec?: string;
  readonly schema?: unknown;
  readonly count: number;
  readonly data: Buffer;
}

function containerOf({ codec = 'null', schema = 'int', count, data }: Block) {
  const [long, text] = [avro.Type.forSchema('long'), avro.Type.forSchema('string')];
  const meta = { 'avro.schema': JSON.stringify(schema), 'avro.codec': codec };
  const sync = Buffer.alloc(16, 7);
  return Readable.from([
    Buffer.concat([
      Buffer.from('Obj\u0001'),
      long.toBuffer(2),
      ...Object.entries(meta).flatMap(([key, value]) => [text.toBuffer(key), text.toBuffer(value)]),
      long.toBuffer(0),
      sync,
      long.toBuffer(count),
      long.toBuffer(data.length),
      data,
      sync,
    ]),
  ]);
}

async function readContainer(block: Block, schema?: unknown): Promise<JsonValue[]> {
  const records: JsonValue[] = [];
  const options = { readWith: readWith(schema), name: 'f', signal: new AbortController().signal };
  for await (const batch of avroRecords(containerOf(block), { ...options, onSchema: () => {} }))
    records.push(...batch);
  return records;
}

const readBlock = (codec: string, data: Buffer, count = 5000): Promise<JsonValue[]> =>
  readContainer({ codec, data, count });

describe('the compression', () => {
  it.each(Object.entries(PACKED))('%s is read', async (codec, base64) => {
    const records = await readBlock(codec, Buffer.from(base64, 'base64'));
    expect(records).toEqual(Array.from({ length: 5000 }, (_, index) => index % 5));
  });

  // The test runner finds names in packages that Node itself does not.
  it.each(Object.entries(PACKED))('%s is read by Node alone', (codec, base64) => {
    const script = `import { decompressorOf } from './avro-codecs.ts';
      const decompress = await decompressorOf('${codec}', 'f');
      console.log((await decompress(Buffer.from('${base64}', 'base64'))).length);`;
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    });
    expect([run.stdout, run.stderr]).toEqual(['5000\n', '']);
  });

  it.each(Object.entries(PACKED))('%s with a wrong byte is refused', async (codec, base64) => {
    const block = Buffer.from(base64, 'base64');
    block[40] = (block[40] ?? 0) ^ 0x10;
    await expect(readBlock(codec, block)).rejects.toThrow(/cannot read f as Avro/);
  });

  it('snappy with another checksum is refused', async () => {
    const { compress } = await compressorOf('snappy');
    const block = compress(Buffer.from([2, 4]));
    expect(await readBlock('snappy', block, 2)).toEqual([1, 2]);
    block[block.length - 1] = (block.at(-1) ?? 0) ^ 1;
    await expect(readBlock('snappy', block, 2)).rejects.toThrow(/checksum/);
  });

  it('of another name is told by this name', async () => {
    await expect(readBlock('lz77', Buffer.of())).rejects.toMatchObject({
      message: expect.stringContaining('"lz77"') as string,
      hint: expect.stringContaining('bzip2') as string,
    });
  });
});

describe('a name that the specification does not allow', () => {
  const PAIR = {
    type: 'record',
    name: 'com.shop.TestJob$Pair',
    fields: [
      { name: 'first-name', type: 'string' },
      {
        name: '1st',
        type: { type: 'enum', name: 'Size$', symbols: ['x-l', 'm'] },
        default: 'none',
      },
      { name: 'next', type: ['null', 'int', 'com.shop.TestJob$Pair'], default: 'null' },
    ],
  };
  // "a", x-l, a pair of ("b", m, 7).
  const data = Buffer.from([2, 0x61, 0, 4, 2, 0x62, 2, 2, 14]);
  const pair = {
    'first-name': 'a',
    '1st': 'x-l',
    next: { 'first-name': 'b', '1st': 'm', next: 7 },
  };

  it('is read as it stands in the file, and a wrong default is not needed', async () => {
    expect(await readContainer({ schema: PAIR, count: 1, data })).toEqual([pair]);
  });

  it('may stand in the schema to read with', async () => {
    const fields = PAIR.fields.filter(({ name }) => name !== '1st');
    const wanted = { ...PAIR, fields: fields.map(({ name, type }) => ({ name, type })) };
    expect(await readContainer({ schema: PAIR, count: 1, data }, wanted)).toEqual([
      { 'first-name': 'a', next: { 'first-name': 'b', next: 7 } },
    ]);
  });

  it('and one that looks like its replacement are two names', async () => {
    const fields = ['a-b', 'a_b', 'a.b'].map((name) => ({ name, type: 'int' }));
    const schema = { type: 'record', name: 'R', fields };
    const three = { 'a-b': 1, a_b: 2, 'a.b': 3 };
    expect(await readContainer({ schema, count: 1, data: Buffer.from([2, 4, 6]) })).toEqual([
      three,
    ]);
  });
});

describe('the names that JavaScript has a meaning for', () => {
  const map = { type: 'map', values: 'int' };
  const schema = {
    type: 'record',
    name: 'R',
    fields: [
      { name: '__proto__', type: 'int' },
      { name: 'constructor', type: map },
      { name: 'either', type: ['null', 'string', map] },
    ],
  };
  const [proto, records] = ['__proto__', [{}, {}, {}] as JsonObject[]] as const;
  const [record, entries, other] = records as [JsonObject, JsonObject, JsonObject];
  setField(entries, proto, 2);
  setField(entries, 'toString', 3);
  setField(other, proto, 4);
  setField(record, proto, 1);
  setField(record, 'constructor', entries);
  setField(record, 'either', other);

  it('are names like all others, of fields and keys of maps', async () => {
    async function* batches() {
      yield [record];
    }
    const found: JsonValue[] = [];
    const onDropped = expect.unreachable;
    const options = { name: 'f', signal: new AbortController().signal, onSchema: () => {} };
    const bytes = avroFile(batches(), { schema, codec: 'null', onDropped });
    for await (const batch of avroRecords(bytes, options)) found.push(...batch);
    expect(found.map(stringifyJson)).toEqual([
      '{"__proto__":1,"constructor":{"__proto__":2,"toString":3},"either":{"__proto__":4}}',
    ]);
  });
});

it('a map that has a key twice is the list of its entries', async () => {
  const schema = { type: 'map', values: 'double' };
  const entry = (value: number) => {
    const bytes = Buffer.from([2, 0x6b, ...Buffer.alloc(8)]);
    bytes.writeDoubleLE(value, 2);
    return bytes;
  };
  // The second block has a negative count, and the size of its bytes.
  const data = Buffer.concat([Buffer.of(2), entry(1.5), Buffer.of(1, 20), entry(-0), Buffer.of(0)]);
  const [entries = null] = await readContainer({ schema, count: 1, data });
  expect(stringifyJson(entries)).toBe('[{"key":"k","value":1.5},{"key":"k","value":-0.0}]');
});

it('a logical type that its type cannot have is ignored', async () => {
  const logical = (type: object, logicalType: string) => ({ ...type, logicalType });
  const fields = [
    logical({ type: 'string' }, 'date'),
    logical({ type: 'int' }, 'timestamp-millis'),
    logical({ type: 'string', precision: 3 }, 'decimal'),
    logical({ type: 'fixed', name: 'F', size: 2 }, 'uuid'),
    logical({ type: 'string' }, 'toString'),
  ].map((type, index) => ({ name: `f${index}`, type }));
  const schema = { type: 'record', name: 'R', fields };
  const data = Buffer.from([2, 0x61, 14, 2, 0x39, 1, 2, 2, 0x62]);
  expect(await readContainer({ schema, count: 1, data })).toEqual([
    { f0: 'a', f1: 7, f2: '9', f3: 'AQI=', f4: 'b' },
  ]);
  const type = (await avroLibrary()).typeOf(schema, false);
  expect(schemaText(avroRecordSchema(schema, type) ?? { fields: [] })).toBe(
    'f0: utf8 not null, f1: int32 not null, f2: utf8 not null, f3: binary not null, f4: utf8 not null',
  );
});

describe('damage is told in words of ours, with its place', () => {
  const MAP = { type: 'map', values: 'int' };
  const LIST = { type: 'array', items: 'string' };
  const NINE = Buffer.alloc(9, 0x80);
  /** A count that takes longer than a test. */
  const MANY = [0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
  const DAMAGED: [string, Block, string][] = [
    ['deflate', { codec: 'deflate', count: 2, data: Buffer.from([9, 9]) }, 'decompressed'],
    ['snappy', { codec: 'snappy', count: 2, data: Buffer.from([255, 255]) }, 'decompressed'],
    ['zstandard', { codec: 'zstandard', count: 2, data: Buffer.from([1, 2]) }, 'decompressed'],
    ['too few values', { count: 3, data: Buffer.from([2, 4]) }, 'values'],
    ['too many bytes', { count: 1, data: Buffer.from([2, 4]) }, 'values'],
    ['no text', { schema: 'string', count: 1, data: Buffer.from([6, 0x61, 0xff, 0x62]) }, 'values'],
    ['no key', { schema: MAP, count: 1, data: Buffer.from([2, 2, 0xff, 0, 0]) }, 'values'],
    ['no boolean', { schema: 'boolean', count: 1, data: Buffer.of(2) }, 'values'],
    ['a wide int', { count: 1, data: Buffer.from([0x80, 0x80, 0x80, 0x80, 0x20]) }, 'values'],
    ['a wide long', { schema: 'long', count: 1, data: Buffer.from([...NINE, 3]) }, 'values'],
    [
      'a longer long',
      { schema: 'long', count: 1, data: Buffer.from([...NINE, 0x80, 0]) },
      'values',
    ],
    ['too many items', { schema: MAP, count: 1, data: Buffer.from(MANY) }, 'values'],
    [
      'too long a list',
      { schema: LIST, count: 1, data: Buffer.from([2, 2, 0x61, ...MANY]) },
      'values',
    ],
    ['no branch', { schema: ['null', 'int'], count: 1, data: Buffer.from([8, 2]) }, 'values'],
  ];
  it.each(DAMAGED)('%s', async (_, block, words) => {
    await expect(readContainer(block)).rejects.toMatchObject({
      message: expect.stringMatching(
        new RegExp(`^cannot read f as Avro: block 1, from record 1 on, .*${words}`),
      ) as string,
      hint: 'the file is damaged or incomplete; get it again from its origin',
    });
  });

  it('and a text with the letter U+FFFD is one', async () => {
    const data = Buffer.from('\u0006\ufffd');
    expect(await readContainer({ schema: 'string', count: 1, data })).toEqual(['\ufffd']);
  });

  it('and so is a schema that is none', async () => {
    await expect(
      readContainer({ schema: 'pair', count: 1, data: Buffer.of(2) }),
    ).rejects.toMatchObject({
      message: 'cannot read f as Avro: the schema in its header is not valid',
      hint: expect.stringContaining('another Avro program') as string,
    });
  });
});

describe('the fields of a file', () => {
  async function fieldsOf(schema: unknown): Promise<string> {
    const type = (await avroLibrary()).typeOf(schema, true);
    const fields = avroRecordSchema(schema, type);
    return fields === undefined ? 'none' : schemaText(fields);
  }

  it('have the types of their schema, and may be null where it allows it', async () => {
    const named = { type: 'record', name: 'n.In', fields: [{ name: 'x', type: 'float' }] };
    const fields = [
      { name: 'a', type: 'int' },
      { name: 'b', type: ['null', 'long'] },
      { name: 'c', type: ['int', 'null', 'long'] },
      { name: 'd', type: ['float', 'double'] },
      { name: 'e', type: ['null', 'int', 'string'] },
      { name: 'f', type: { type: 'enum', name: 'E', symbols: ['A'] } },
      { name: 'g', type: { type: 'fixed', name: 'F', size: 2 } },
      { name: 'h', type: named },
      { name: 'i', type: ['null', 'n.In'] },
      { name: 'j', type: { type: 'array', items: ['null', { type: 'int', logicalType: 'date' }] } },
      {
        name: 'k',
        type: { type: 'map', values: { type: 'bytes', logicalType: 'decimal', precision: 9 } },
      },
      { name: 'l', type: { type: 'string', sqlType: 'JSON' } },
      { name: 'm', type: { type: 'string', logicalType: 'unheard' } },
      { name: 'n', type: 'null' },
      { name: 'o', type: { type: 'long', logicalType: 'local-timestamp-nanos' } },
    ];
    expect(await fieldsOf({ type: 'record', name: 'R', fields })).toMatchInlineSnapshot(
      `"a: int32 not null, b: int64, c: int64, d: float64 not null, e: json, f: utf8 not null, g: binary not null, h: struct(x: float32 not null) not null, i: struct(x: float32 not null), j: list(date) not null, k: map(utf8, decimal(9, 0)) not null, l: json not null, m: utf8 not null, n: json, o: timestamp(ns) not null"`,
    );
  });

  it('are json where a record contains itself', async () => {
    const fields = [{ name: 'next', type: ['null', 'R'] }];
    expect(await fieldsOf({ type: 'record', name: 'R', fields })).toMatchInlineSnapshot(
      `"next: json"`,
    );
  });

  it('are unknown where the values are no records', async () => {
    expect(await fieldsOf(['null', 'long'])).toBe('none');
  });
});

describe('a schema for writing', () => {
  const FIELDS = [
    { name: 'id', type: 'int' },
    { name: 'either', type: ['null', 'long', 'string', { type: 'map', values: 'double' }] },
    { name: 'size', type: { type: 'enum', name: 'Size', symbols: ['S', 'M'] }, default: 'M' },
    {
      name: 'price',
      type: { type: 'fixed', name: 'P', size: 4, logicalType: 'decimal', precision: 9, scale: 2 },
    },
    {
      name: 'span',
      type: ['null', { type: 'fixed', name: 'D', size: 12, logicalType: 'duration' }],
    },
    { name: 'at', type: { type: 'int', logicalType: 'time-millis' } },
    { name: 'child', type: ['null', 'R'], default: null },
  ];
  const RECORD = {
    id: 1,
    either: 5,
    size: 'S',
    price: '-1.10',
    span: 'P1M2DT2.5S',
    at: '07:08:09.001',
  };

  async function written(...records: JsonObject[]): Promise<JsonValue[]> {
    const schema = { type: 'record', name: 'R', fields: FIELDS };
    const dropped = (path: string): never => {
      throw new Error(`dropped ${path}`);
    };
    async function* batches() {
      yield records;
    }
    const bytes = avroFile(batches(), { schema, codec: 'zstd', onDropped: dropped });
    const found: JsonValue[] = [];
    const options = { name: 'f', signal: new AbortController().signal };
    for await (const batch of avroRecords(bytes, { ...options, onSchema: () => {} }))
      found.push(...batch);
    return found;
  }

  it('decides the form of each value', async () => {
    const { size: _default, ...small } = RECORD;
    const child = { ...small, either: { a: 1.5 } };
    const other = { ...RECORD, either: '5', child };
    expect(await written(RECORD, other)).toEqual([
      { ...RECORD, child: null },
      { ...other, child: { ...child, size: 'M', child: null } },
    ]);
  });

  it.each<[string, JsonObject, RegExp]>([
    ['a field that it does not have', { more: 1 }, /dropped more/],
    ['a null where none may be', { id: null }, /"id" has no value/],
    [
      'digits that it would lose',
      { price: '1.105' },
      /"price" is decimal\(9, 2\), which cannot hold 1\.105/,
    ],
    ['another symbol', { size: 'XL' }, /"size" is one of S, M/],
    ['a duration below zero', { span: 'P-1M' }, /"span" is duration/],
    ['microseconds', { at: '07:08:09.000001' }, /"at" is time-millis/],
    ['what no branch takes', { either: true }, /"either" is one of long, string, map/],
    ['a number that is too large', { id: 2 ** 31 }, /"id" is int32/],
  ])('refuses %s', async (_name, change, message) => {
    await expect(written({ ...RECORD, ...change })).rejects.toThrow(message);
  });
});

it.each([['b c'], ['é'], ['1st'], ['']])('the name %j cannot be one of Avro', (name) => {
  const columns = new Map([['s', { is: 'struct', fields: new Map([[name, { is: 'string' }]]) }]]);
  expect(() => avroSchemaOf(columns as never)).toThrow(/cannot have this name in an Avro file/);
});
