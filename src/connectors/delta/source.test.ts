/** What delta-rs does not write: deletion vectors, column mapping, checkpoints of version 2, damage. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { putTable } from '../../../test/conformance/fixtures/delta.ts';
import { issuesOf, runSource } from '../../../test/fakes/run-source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { deltaSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-delta-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let tables = 0;
let table: string;
beforeEach(() => {
  table = join(folder, `table-${(tables += 1)}`);
});

const put = (path: string, bytes: Uint8Array | string): void => {
  mkdirSync(dirname(join(table, path)), { recursive: true });
  writeFileSync(join(table, path), bytes);
};
const logName = (version: number): string => `_delta_log/${String(version).padStart(20, '0')}`;
const commit = (version: number, actions: readonly object[]): void =>
  put(`${logName(version)}.json`, actions.map((one) => JSON.stringify(one)).join('\n'));
const parquet = (columnData: ColumnSource[]): Uint8Array =>
  new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 4 }));
const read = async (more: JsonObject = {}) =>
  (await runSource(deltaSource, { table_uri: table, ...more })).records;

const PLAIN = { minReaderVersion: 1, minWriterVersion: 2 };
const withFeatures = (...names: string[]) => ({
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: names,
  writerFeatures: names,
});
const metaData = (fields: readonly object[], more: object = {}) => ({
  id: 'x',
  format: { provider: 'parquet' },
  schemaString: JSON.stringify({ type: 'struct', fields }),
  partitionColumns: [],
  configuration: {},
  ...more,
});
const field = (name: string, type: unknown, metadata: object = {}) => ({
  name,
  type,
  nullable: true,
  metadata,
});
const add = (path: string, more: object = {}) => ({
  add: { path, partitionValues: {}, size: 1, modificationTime: 0, dataChange: true, ...more },
});
const longs = (name: string, count: number): ColumnSource => ({
  name,
  type: 'INT64',
  data: Array.from({ length: count }, (_, index) => BigInt(index)),
});

describe('deletion vectors', () => {
  /** As the format of Roaring bitmaps says: an array, runs, or bits. */
  const bitmap = (container: Buffer, cookie: Buffer): Buffer => {
    const head = Buffer.alloc(16);
    head.writeUInt32LE(1_681_511_377, 0);
    head.writeBigUInt64LE(1n, 4);
    return Buffer.concat([head, cookie, container]);
  };
  const words = (...values: number[]): Buffer => {
    const bytes = Buffer.alloc(values.length * 2);
    for (const [index, value] of values.entries()) bytes.writeUInt16LE(value, index * 2);
    return bytes;
  };
  const array = bitmap(words(1, 5, 9), Buffer.concat([words(12_346, 0, 1, 0, 0, 2), words(16, 0)]));
  const runs = bitmap(
    words(1, 1, 3),
    Buffer.concat([words(12_347, 0), Buffer.from([1]), words(0, 3)]),
  );
  const bits = Buffer.alloc(8192);
  for (let row = 0; row < 5000; row += 1) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7));
  const many = bitmap(bits, Buffer.concat([words(12_346, 0, 1, 0, 0, 4999), words(16, 0)]));

  const ID = 'ab^-aqEH.-t@S}K{vb[*k^';
  function stored(bytes: Buffer, checksum = crc32(bytes)): Buffer {
    const [head, tail] = [Buffer.alloc(5), Buffer.alloc(4)];
    head.writeUInt8(1, 0);
    head.writeUInt32BE(bytes.length, 1);
    tail.writeUInt32BE(checksum, 0);
    return Buffer.concat([head, bytes, tail]);
  }
  function make(bytes: Buffer, cardinality: number, rows: number, file = stored(bytes)): void {
    put('a.parquet', parquet([longs('id', rows)]));
    put('ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin', file);
    commit(0, [
      { protocol: withFeatures('deletionVectors') },
      { metaData: metaData([field('id', 'long')]) },
      add('a.parquet'),
    ]);
    const deletionVector = {
      storageType: 'u',
      pathOrInlineDv: ID,
      offset: 1,
      sizeInBytes: bytes.length,
      cardinality,
    };
    commit(1, [
      { remove: { path: 'a.parquet', dataChange: true } },
      add('a.parquet', { deletionVector }),
    ]);
  }
  const ids = async (more?: JsonObject) => ((await read(more)) as JsonObject[]).map(({ id }) => id);

  test.each([
    ['an array', array, 3, 12, [0, 2, 3, 4, 6, 7, 8, 10, 11]],
    ['runs', runs, 4, 6, [0, 5]],
    ['bits', many, 5000, 5002, [5000, 5001]],
  ])('leave the rows of %s out, across row groups', async (_, bytes, cardinality, rows, left) => {
    make(bytes, cardinality, rows);
    expect(await ids()).toEqual(left);
    expect(await ids({ version: 0 })).toHaveLength(rows);
  });

  test('may stand in the log itself', async () => {
    put('a.parquet', parquet([longs('id', 12)]));
    const padded = Buffer.concat([array, Buffer.alloc((4 - (array.length % 4)) % 4)]);
    const digits =
      '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
    let text = '';
    for (let at = 0; at < padded.length; at += 4) {
      let value = padded.readUInt32BE(at);
      let part = '';
      for (let left = 5; left > 0; left -= 1) {
        part = `${digits[value % 85]}${part}`;
        value = Math.floor(value / 85);
      }
      text += part;
    }
    const deletionVector = {
      storageType: 'i',
      pathOrInlineDv: text,
      sizeInBytes: array.length,
      cardinality: 3,
    };
    commit(0, [
      { protocol: withFeatures('deletionVectors') },
      { metaData: metaData([field('id', 'long')]) },
      add('a.parquet', { deletionVector }),
    ]);
    expect(await ids()).toHaveLength(9);
  });

  test('that are damaged are told, and no deleted row comes back', async () => {
    make(array, 4, 12);
    await expect(read()).rejects.toThrow('has 3 rows, and the log says 4');
    make(array, 3, 12, stored(array, 7));
    await expect(read()).rejects.toThrow('is not what its checksum says');
    make(array, 3, 12, stored(array).subarray(0, 20));
    await expect(read()).rejects.toThrow('is cut off');
  });
});

describe('column mapping', () => {
  const mapped = (name: string, type: unknown, physical: string, id: number) =>
    field(name, type, {
      'delta.columnMapping.physicalName': physical,
      'delta.columnMapping.id': id,
    });

  test('by name finds columns, fields inside of them and partition values', async () => {
    const inner = {
      type: 'struct',
      fields: [mapped('shown', 'long', 'col-3', 3), mapped('later', 'string', 'col-9', 9)],
    };
    put(
      'a.parquet',
      new Uint8Array(
        parquetWriteBuffer({
          schema: [
            { name: 'root', num_children: 2 },
            { name: 'col-1', type: 'INT64', repetition_type: 'OPTIONAL' },
            { name: 'col-2', num_children: 1, repetition_type: 'OPTIONAL' },
            { name: 'col-3', type: 'INT64', repetition_type: 'OPTIONAL' },
          ],
          columnData: [
            { name: 'col-1', data: [7n] },
            { name: 'col-2', data: [{ 'col-3': 8n }] },
          ],
        }),
      ),
    );
    commit(0, [
      { protocol: { minReaderVersion: 2, minWriterVersion: 5 } },
      {
        metaData: metaData(
          [
            mapped('id', 'long', 'col-1', 1),
            mapped('nested', inner, 'col-2', 2),
            mapped('day', 'date', 'col-4', 4),
          ],
          { partitionColumns: ['day'], configuration: { 'delta.columnMapping.mode': 'name' } },
        ),
      },
      add('a.parquet', { partitionValues: { 'col-4': '2024-01-01' } }),
    ]);
    expect(await read()).toEqual([{ id: 7, nested: { shown: 8, later: null }, day: '2024-01-01' }]);
  });

  test('by id goes by the numbers in the file, whatever the names are', async () => {
    put(
      'a.parquet',
      new Uint8Array(
        parquetWriteBuffer({
          schema: [
            { name: 'root', num_children: 2 },
            { name: 'x', type: 'INT64', repetition_type: 'OPTIONAL', field_id: 2 },
            { name: 'y', type: 'INT64', repetition_type: 'OPTIONAL', field_id: 1 },
          ],
          columnData: [
            { name: 'x', data: [20n] },
            { name: 'y', data: [10n] },
          ],
        }),
      ),
    );
    commit(0, [
      { protocol: withFeatures('columnMapping') },
      {
        metaData: metaData(
          [
            mapped('one', 'long', 'x', 1),
            mapped('two', 'long', 'y', 2),
            mapped('three', 'long', 'z', 3),
          ],
          { configuration: { 'delta.columnMapping.mode': 'id' } },
        ),
      },
      add('a.parquet'),
    ]);
    expect(await read()).toEqual([{ one: 10, two: 20, three: null }]);
  });
});

describe('checkpoints', () => {
  const start = [{ protocol: PLAIN }, { metaData: metaData([field('id', 'long')]) }];

  test('of version 2 are read with the files that they name', async () => {
    put('a.parquet', parquet([longs('id', 2)]));
    put('b.parquet', parquet([longs('id', 3)]));
    put(
      '_delta_log/_sidecars/one.parquet',
      parquet([
        {
          name: 'add',
          data: ['a.parquet'].map((path) => ({
            path,
            size: 1,
            modificationTime: 0,
            dataChange: false,
          })),
        },
      ] as ColumnSource[]),
    );
    put(
      `${logName(4)}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json`,
      [
        { protocol: withFeatures('v2Checkpoint') },
        start[1],
        { checkpointMetadata: { version: 4 } },
        { sidecar: { path: 'one.parquet', sizeInBytes: 1, modificationTime: 0 } },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    );
    commit(5, [add('b.parquet')]);
    expect(await read()).toHaveLength(5);
    expect(await read({ version: 4 })).toHaveLength(2);
    await expect(read({ version: 3 })).rejects.toThrow('has no version 3: 4 to 5 can be read');
  });

  test('of several parts count when all parts are there', async () => {
    put('a.parquet', parquet([longs('id', 2)]));
    const part = (index: number): string =>
      `${logName(1)}.checkpoint.${String(index).padStart(10, '0')}.0000000002.parquet`;
    const json = (data: readonly object[]): ColumnSource[] =>
      ['protocol', 'metaData', 'add'].flatMap((name) => {
        const values = data.map((one) => (one as Record<string, object>)[name] ?? null);
        return values.every((value) => value === null) ? [] : [{ name, data: values }];
      });
    commit(0, [...start, add('a.parquet')]);
    commit(1, []);
    put('_delta_log/_last_checkpoint', '{"version":1,"parts":2,"size":3}');
    put(part(1), parquet(json([start[0] as object])));
    expect(await read()).toHaveLength(2);
    rmSync(join(table, `${logName(0)}.json`));
    await expect(read()).rejects.toThrow('none can be read');
  });

  test('that `_last_checkpoint` names wrongly do no harm', async () => {
    put('a.parquet', parquet([longs('id', 2)]));
    commit(0, [...start, add('a.parquet')]);
    for (const hint of ['{"version":9}', 'no JSON', '[]']) {
      put('_delta_log/_last_checkpoint', hint);
      expect(await read()).toHaveLength(2);
    }
  });
});

test('the version of a time is the last one before it', async () => {
  const rows = [{ id: 1, v: 'a', half: 0.5 }];
  putTable(table, [rows, rows, rows]);
  for (const [version, hour] of [0, 1, 3, 2].entries())
    await utimes(join(table, `${logName(version)}.json`), 0, new Date(Date.UTC(2026, 0, 1, hour)));
  const at = async (timestamp: string) => (await read({ timestamp })).length;
  expect(await at('2026-01-01T01:30:00Z')).toBe(1);
  expect(await at('2026-01-01 02:00:00+01:00')).toBe(1);
  // Version 2 was made before version 3, whatever its clock said.
  expect(await at('2026-01-01T02:00:00Z')).toBe(3);
  expect(await at('2030-01-01')).toBe(3);
  await expect(at('2025-12-31')).rejects.toThrow(
    'the oldest that its log knows is of 2026-01-01T00:00:00.000Z',
  );
});

describe('what cannot be read is refused by its name', () => {
  test.each([
    [
      { protocol: withFeatures('deletionVectors', 'typeWidening', 'catalogManaged') },
      'the features `typeWidening`, `catalogManaged`',
    ],
    [{ protocol: { minReaderVersion: 4, minWriterVersion: 7 } }, 'version 4 of readers'],
    [{ metaData: metaData([field('v', 'variant')]) }, 'a type that is not known: "variant"'],
    [{ metaData: { id: 'x' } }, '`schemaString` is missing'],
    [add('file:///etc/passwd'), 'names a file outside of the folder of the table'],
    [add('../other.parquet'), 'names a file outside of its folder'],
    [add('%2e%2e/other.parquet'), 'names a file outside of its folder'],
  ])('%j', async (action, message) => {
    commit(0, [{ protocol: PLAIN }, { metaData: metaData([field('id', 'long')]) }]);
    commit(1, [action]);
    await expect(read()).rejects.toThrow(message);
  });

  test('a line that is no JSON, and a commit that is missing', async () => {
    commit(0, [{ protocol: PLAIN }, { metaData: metaData([field('id', 'long')]) }]);
    commit(2, []);
    await expect(read()).rejects.toThrow('has no version 1');
    put(`${logName(1)}.json`, '{"add":');
    await expect(read()).rejects.toThrow(/line 1 of .*001\.json is not a JSON object/);
  });
});

test('settings that say too much, too little or something dangerous are told', () => {
  const messages = (config: JsonObject) =>
    issuesOf(deltaSource, config).map(({ message }) => message);
  expect(messages({ table_uri: 'ftp://x/y' })).toEqual(['tables cannot be at `ftp://`']);
  expect(messages({ table_uri: 's3://bucket' })).toEqual(['this names no table in a store']);
  expect(messages({ table_uri: 't', version: 1, timestamp: '2024-01-01' })).toEqual([
    '`version` and `timestamp` both say which version is read',
  ]);
  expect(messages({ table_uri: 't', timestamp: 'yesterday' })).toEqual(['this is not a time']);
  expect(
    messages({ table_uri: 's3://b/t', credentials: { type: 'gcp', config: {} } }),
  ).toHaveLength(1);
  expect(messages({ table_uri: 't', storage_options: { region: 'x' } })).toHaveLength(1);
  const refused: JsonObject[] = [
    { aws_s3_locking_provider: 'dynamodb' },
    { AWS_S3_ALLOW_UNSAFE_RENAME: 'true' },
    { aws_conditional_put: 'disabled' },
    { azure_storage_account_key: 'x' },
    { aws_allow_http: 'perhaps' },
    { aws_endpoint_url: 'http://127.0.0.1:9000' },
    { aws_access_key_id: 'alone' },
  ];
  for (const options of refused)
    expect([options, messages({ table_uri: 's3://b/t', storage_options: options }).length]).toEqual(
      [options, 1],
    );
  expect(
    messages({ table_uri: 's3a://b/t', storage_options: { AWS_REGION: 'x', allow_http: 'TRUE' } }),
  ).toEqual([]);
  expect(
    messages({ table_uri: 'abfss://c@a.dfs.core.windows.net/t', credentials: 'default' }),
  ).toEqual([]);
  expect(messages({ table_uri: 'abfss://c/t' })).toEqual(['the storage account is not named']);
});

test('two logins of Azure that exclude each other are told, with what to do', () => {
  const config = { access_key: 'a2V5', sas_token: 'sv=2026&sig=x' };
  const table_uri = 'abfss://c@a.dfs.core.windows.net/t';
  expect(issuesOf(deltaSource, { table_uri, credentials: { type: 'azure', config } })).toEqual([
    {
      code: 'conflicting_keys',
      path: 'credentials.config.sas_token',
      message: '`access_key` and `sas_token` exclude each other',
      hint: expect.stringContaining('remove one'),
    },
  ]);
});
