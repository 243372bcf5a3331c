/** Tables that delta-rs wrote are read, and delta-rs reads tables that were written here. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { deltalake, type DeltaRs } from '../../../test/servers/deltalake.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { deltaSink, deltaSource } from './index.ts';

describe.skipIf(deltalake.reason !== undefined)(`delta-rs ${deltalake.reason ?? ''}`, () => {
  let folder: string;
  let other: DeltaRs;
  let tables = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-delta-'));
    if (deltalake.start !== undefined) other = await deltalake.start();
  });
  afterAll(async () => {
    other.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const fresh = (): string => join(folder, `table-${(tables += 1)}`);
  const read = async (path: string, more: JsonObject = {}): Promise<readonly JsonValue[]> =>
    (await runSource(deltaSource, { table_uri: path, ...more })).records;

  async function write(
    config: JsonObject,
    pages: readonly (readonly JsonValue[])[],
    schema?: RecordSchema,
  ): Promise<void> {
    const checked = check(deltaSink.config, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await deltaSink.open(checked.value, sinkContext());
    try {
      for (const page of pages) {
        await sink.write(Page.ofRecords([...page], { schema }), { partial: false });
        await sink.flush();
      }
      await sink.finish('success');
    } finally {
      await sink.close();
    }
  }

  test('all types are read as it wrote them', async () => {
    const path = fresh();
    await other.ask('types', path);
    const nothing = Object.fromEntries(
      'i32 i16 i8 f32 f64 flag text bytes day at wall dec big list nested map'
        .split(' ')
        .map((name) => [name, null]),
    );
    expect(await read(path)).toEqual([
      {
        id: 1,
        i32: 1,
        i16: 1,
        i8: 1,
        f32: 1.5,
        f64: 0.1,
        flag: true,
        text: 'é',
        bytes: 'AP8=',
        day: '2024-02-29',
        at: '2024-05-06T07:08:09.123456Z',
        wall: '2024-05-06T07:08:09.123456',
        dec: '1.10',
        big: '12345678901234567890123456789.123456789',
        list: [1, null],
        nested: { a: 1, b: { c: '2024-05-06T07:08:09.123456Z' } },
        map: { k: 1, l: null },
      },
      { ...nothing, id: 2, text: '' },
      {
        ...nothing,
        id: 3,
        i32: -3,
        i16: -3,
        i8: -3,
        f32: 'NaN',
        f64: 'Infinity',
        flag: false,
        bytes: '',
        day: '1900-01-01',
        dec: '-99999.99',
        list: [],
        nested: { a: null, b: null },
        map: {},
      },
    ]);
  });

  test('partition values of all types are read as it wrote them', async () => {
    const path = fresh();
    await other.ask('partitions', path);
    const times = { at: '2024-05-06T07:08:09.123456Z', wall: '2024-05-06T07:08:09.123456' };
    const records = (await read(path)) as JsonObject[];
    expect(records.toSorted((a, b) => Number(a['id']) - Number(b['id']))).toEqual([
      {
        id: 1,
        day: '2024-01-01',
        name: 'a b',
        n: 1,
        flag: true,
        ...times,
        dec: '1.10',
        f: 1.5,
        bytes: 'YWI=',
      },
      {
        id: 2,
        day: null,
        name: null,
        n: null,
        flag: null,
        ...times,
        dec: null,
        f: null,
        bytes: null,
      },
      {
        id: 3,
        day: '2024-01-02',
        name: 'x/y=%é',
        n: -2,
        flag: false,
        ...times,
        dec: '2.00',
        f: 2,
        bytes: 'AQ==',
      },
    ]);
  });

  test('versions before and after its checkpoints, deletes and updates are read', async () => {
    const path = fresh();
    await other.ask('changes', path);
    for (const version of [0, 9, 10, 19, 24, 25, 26]) {
      const theirs = (await other.ask('read', path, { version }))['rows'] as JsonObject[];
      const byId = (rows: readonly JsonValue[]): JsonObject[] =>
        (rows as JsonObject[]).toSorted((a, b) => Number(a['id']) - Number(b['id']));
      expect(byId(await read(path, { version })), `version ${version}`).toEqual(byId(theirs));
    }
    expect(await read(path, { batch_size: 0 })).toHaveLength(45);
  });

  const TYPES: readonly (readonly [string, RecordType, JsonValue, string, unknown])[] = [
    ['flag', { kind: 'bool' }, true, 'bool', true],
    ['i8', { kind: 'int8' }, -128, 'int8', -128],
    ['u8', { kind: 'uint8' }, 255, 'int16', 255],
    ['i32', { kind: 'int32' }, -7, 'int32', -7],
    ['i64', { kind: 'int64' }, 42, 'int64', 42],
    [
      'u64',
      { kind: 'uint64' },
      18_446_744_073_709_551_615n,
      'decimal128(20, 0)',
      '18446744073709551615',
    ],
    ['f32', { kind: 'float32' }, 1.5, 'float', 1.5],
    ['f64', { kind: 'float64' }, 0.1, 'double', 0.1],
    [
      'dec',
      { kind: 'decimal', precision: 38, scale: 9 },
      '-1.100000000',
      'decimal128(38, 9)',
      '-1.100000000',
    ],
    ['text', { kind: 'utf8' }, 'é "x"', 'string', 'é "x"'],
    ['bytes', { kind: 'binary' }, 'AP8=', 'binary', '00ff'],
    ['day', { kind: 'date' }, '2024-02-29', 'date32[day]', '2024-02-29'],
    ['clock', { kind: 'time' }, '07:08:09.5', 'string', '07:08:09.5'],
    [
      'at',
      { kind: 'timestamp', unit: 'us', zone: 'UTC' },
      '2024-05-06T07:08:09.123456Z',
      'timestamp[us, tz=UTC]',
      '2024-05-06T07:08:09.123456+00:00',
    ],
    [
      'wall',
      { kind: 'timestamp', unit: 'us' },
      '2024-05-06T07:08:09.500',
      'timestamp[us]',
      '2024-05-06T07:08:09.500000',
    ],
    [
      'uuid',
      { kind: 'uuid' },
      '00112233-4455-6677-8899-aabbccddeeff',
      'string',
      '00112233-4455-6677-8899-aabbccddeeff',
    ],
    ['json', { kind: 'json' }, { a: [1, null] }, 'string', '{"a":[1,null]}'],
    [
      'list',
      { kind: 'list', item: { kind: 'int16' } },
      [1, null],
      'list<element: int16>',
      [1, null],
    ],
    [
      'nested',
      { kind: 'struct', fields: [{ name: 'd', type: { kind: 'date' }, nullable: true }] },
      { d: '2024-01-01' },
      'struct<d: date32[day]>',
      { d: '2024-01-01' },
    ],
    [
      'map',
      { kind: 'map', key: { kind: 'utf8' }, value: { kind: 'int64' } },
      { k: 1 },
      'map<string, int64>',
      [['k', 1]],
    ],
  ];

  test('it reads all types as they were written', async () => {
    const path = fresh();
    const schema: RecordSchema = {
      fields: TYPES.map(([name, type]) => ({ name, type, nullable: true })),
    };
    const full = Object.fromEntries(TYPES.map(([name, , value]) => [name, value]));
    const empty = Object.fromEntries(TYPES.map(([name]) => [name, null]));
    await write({ table_uri: path }, [[full, empty]], schema);
    const { rows, types, adds } = await other.ask('read', path);
    const [first, second] = rows as JsonObject[];
    for (const [name, , , type, value] of TYPES) {
      expect([name, (types as Record<string, string>)[name]?.replaceAll(' ', '')]).toEqual([
        name,
        type.replaceAll(' ', ''),
      ]);
      expect([name, first?.[name], second?.[name]]).toEqual([name, value, null]);
    }
    const [add] = adds as JsonObject[];
    expect(add).toMatchObject({
      num_records: 2,
      'null_count.i64': 1,
      'min.i64': 42,
      'max.text': 'é "x"',
      'min.day': '2024-02-29',
    });
    const texts = { json: '{"a":[1,null]}', u64: '18446744073709551615' };
    expect(await read(path)).toEqual([{ ...full, ...texts }, empty]);
  });

  test('it reads partitions, columns that were added, and what an overwrite left', async () => {
    const path = fresh();
    const config = { table_uri: path, merge_schema: true };
    const rows = [
      { id: 1, day: 'a b', n: 1 },
      { id: 2, day: 'x/y=%é:?', n: null },
      { id: 3, day: null, n: 2 },
    ];
    await write({ ...config, partition_by: ['day'] }, [rows]);
    await write(config, [[{ id: 4, day: 'a b', extra: 'new' }]]);
    const found = await other.ask('read', path);
    expect(found['partitions']).toEqual(['day']);
    const sorted = (found['rows'] as JsonObject[]).toSorted(
      (a, b) => Number(a['id']) - Number(b['id']),
    );
    expect(sorted).toEqual([
      ...rows.map((row) => ({ ...row, extra: null })),
      { id: 4, day: 'a b', n: null, extra: 'new' },
    ]);
    await write({ ...config, write_mode: 'overwrite' }, [[{ id: 9, day: 'z' }]]);
    expect((await other.ask('read', path))['rows']).toEqual([
      { id: 9, day: 'z', n: null, extra: null },
    ]);
    expect((await other.ask('read', path, { version: 0 }))['rows']).toHaveLength(3);
  });

  test('it reads from the checkpoint alone, when the log before is gone', async () => {
    const path = fresh();
    await write(
      { table_uri: path },
      Array.from({ length: 12 }, (_, id) => [{ id, v: `v${id}` }]),
    );
    const log = join(path, '_delta_log');
    const names = await readdir(log);
    expect(names).toContain('00000000000000000010.checkpoint.parquet');
    for (const name of names) if (/^0{18}0\d\.json$/.test(name)) await rm(join(log, name));
    const { rows, version } = await other.ask('read', path);
    expect([version, (rows as JsonValue[]).length]).toEqual([11, 12]);
    expect(await read(path)).toHaveLength(12);
  });

  test('both add to one table at the same time, and nothing is lost', async () => {
    const path = fresh();
    await write({ table_uri: path }, [[{ id: 0, v: 'ours' }]]);
    const ours = Array.from({ length: 15 }, (_, index) => [{ id: index + 1, v: 'ours' }]);
    await Promise.all([
      other.ask('append', path, { from: 100, count: 15 }),
      write({ table_uri: path }, ours),
      write(
        { table_uri: path },
        ours.map(([row]) => [{ id: (row?.id ?? 0) + 50, v: 'more' }]),
      ),
    ]);
    const { rows } = await other.ask('read', path);
    const ids = (rows as JsonObject[]).map(({ id }) => Number(id)).toSorted((a, b) => a - b);
    expect(ids).toHaveLength(46);
    expect(new Set(ids).size).toBe(46);
    expect(await read(path)).toHaveLength(46);
  });
});
