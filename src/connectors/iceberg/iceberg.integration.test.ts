/** Tables that PyIceberg wrote are read, and PyIceberg reads tables that were written here. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { icebergRest } from '../../../test/servers/iceberg-rest.ts';
import { pyiceberg, type PyIceberg } from '../../../test/servers/pyiceberg.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { icebergSink, icebergSource } from './index.ts';

interface Kept {
  /** As documents write it. */
  readonly ours: JsonObject;
  /** As PyIceberg has it. */
  readonly theirs: JsonObject;
}

let folder: string;
let other: PyIceberg;
let server: TestServer | undefined;
let tables = 0;
const fresh = (): string => `ns.t${(tables += 1)}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-iceberg-'));
  if (pyiceberg.start !== undefined) other = await pyiceberg.start();
  if (icebergRest.reason === undefined) server = await startOf(icebergRest);
});
afterAll(async () => {
  other.stop();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const sql = (): Kept => ({
  ours: { type: 'sql', uri: `sqlite://${folder}/catalog.db?mode=rwc`, warehouse: `${folder}/lake` },
  theirs: {
    type: 'sql',
    uri: `sqlite:///${folder}/catalog.db`,
    warehouse: `file://${folder}/lake`,
  },
});
const rest = (): Kept => ({
  ours: { type: 'rest', uri: server?.url ?? '' },
  theirs: { type: 'rest', uri: server?.url ?? '' },
});

const byId = (rows: readonly JsonValue[]): JsonObject[] =>
  (rows as JsonObject[]).toSorted((a, b) => Number(a['id']) - Number(b['id']));

describe.skipIf(pyiceberg.reason !== undefined)(`PyIceberg ${pyiceberg.reason ?? ''}`, () => {
  describe.each([
    ['sql', sql, undefined],
    ['rest', rest, icebergRest.reason],
  ] as const)('by a catalog of type %s', (_type, kept, missing) => {
    const run = test.skipIf(missing !== undefined);

    const read = async (table: string, more: JsonObject = {}): Promise<readonly JsonValue[]> =>
      (await runSource(icebergSource, { catalog: kept().ours, table, ...more })).records;
    const ask = (what: string, table: string, more: JsonObject = {}) =>
      other.ask(what, table, { catalog: kept().theirs, ...more });

    async function write(
      table: string,
      pages: readonly (readonly JsonValue[])[],
      { schema, config = {} }: { schema?: RecordSchema; config?: JsonObject } = {},
    ): Promise<void> {
      const [namespace, name] = table.split('.') as [string, string];
      const given = { catalog: kept().ours, namespace: [namespace], table: name, ...config };
      const checked = check(icebergSink.config, given);
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const sink = await icebergSink.open(checked.value, sinkContext());
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

    run('all types are read as it wrote them', async () => {
      const table = fresh();
      await ask('types', table);
      const full: JsonObject = {
        id: 1,
        i32: 1,
        f32: 1.5,
        f64: 0.1,
        flag: true,
        text: 'é',
        bytes: 'AP8=',
        fixed: 'YWI=',
        uuid: '00112233-4455-6677-8899-aabbccddeeff',
        day: '2024-02-29',
        clock: '07:08:09.500',
        at: '2024-05-06T07:08:09.123456Z',
        wall: '2024-05-06T07:08:09.123456',
        dec: '1.10',
        big: '12345678901234567890123456789.123456789',
        list: [1, null],
        nested: { a: 1, b: { c: '2024-05-06T07:08:09.123456Z' } },
        map: { k: 1, l: null },
      };
      const empty = Object.fromEntries(Object.keys(full).map((name) => [name, null]));
      expect(await read(table)).toEqual([
        full,
        { ...empty, id: 2 },
        { ...empty, id: 3, f32: 'NaN', f64: 'Infinity', list: [], map: {} },
      ]);
    });

    run(
      'columns that were renamed, added, dropped, moved and widened are followed by id',
      async () => {
        const table = fresh();
        await ask('evolve', table);
        expect(byId(await read(table))).toEqual([
          { new: 'a', id: 1, s: { y: 1, z: null }, f: 1.5, d: '1.10', gone: null },
          { new: 'c', id: 2 ** 40, s: { y: 2, z: 'q' }, f: 0.1, d: '1234567.89', gone: 'again' },
        ]);
        const { snapshots } = await ask('read', table);
        const [first] = snapshots as JsonObject[];
        expect(await read(table, { snapshot_id: first?.['id'] ?? '' })).toEqual([
          { id: 1, old: 'a', gone: 'b', s: { x: 1 }, f: 1.5, d: '1.10' },
        ]);
      },
    );

    run('partitions that changed, deleted records and earlier snapshots are read', async () => {
      const table = fresh();
      await ask('plain', table, { spec: [[2, 'identity', 'v']] });
      const rows = Array.from({ length: 20 }, (_, id) => ({ id, v: `v${id % 3}`, day: null }));
      await ask('append', table, { rows });
      await ask('respec', table, { remove: ['v'], add: [['id', 'bucket[4]']] });
      await ask('append', table, { rows: rows.map((row) => ({ ...row, id: row.id + 20 })) });
      await ask('delete', table, { where: "v == 'v1' and id < 30" });
      const { rows: left, snapshots } = await ask('read', table);
      expect(byId(await read(table))).toEqual(byId(left as JsonValue[]));
      expect(left).toHaveLength(30);
      const [first] = snapshots as JsonObject[];
      const id = first?.['id'] as string;
      expect(byId(await read(table, { snapshot_id: id }))).toEqual(rows);
      expect(byId(await read(table, { filter: "v = 'v2' and id >= 25" }))).toEqual(
        byId(left as JsonValue[]).filter((row) => row['v'] === 'v2' && Number(row['id']) >= 25),
      );
    });

    run('mode incremental reads what was added since the bookmark', async () => {
      const table = fresh();
      await ask('plain', table);
      const row = (id: number) => ({ id, v: `v${id}`, day: null });
      await ask('append', table, { rows: [row(1), row(2)] });
      const config = { catalog: kept().ours, table, mode: 'incremental' };
      const first = await runSource(icebergSource, config);
      expect(first.records).toEqual([row(1), row(2)]);
      await ask('append', table, { rows: [row(3)] });
      await ask('append', table, { rows: [row(4)] });
      const bookmark = first.bookmarks.at(-1) ?? null;
      const next = await runSource(icebergSource, config, { bookmark });
      expect(next.records).toEqual([row(3), row(4)]);
      expect(next.bookmarks).toHaveLength(2);
      const [after] = next.bookmarks;
      expect((await runSource(icebergSource, config, { bookmark: after ?? null })).records).toEqual(
        [row(4)],
      );
      await ask('delete', table, { where: 'id == 3' });
      const last = next.bookmarks.at(-1) ?? null;
      await expect(runSource(icebergSource, config, { bookmark: last })).rejects.toThrow(
        'changed or deleted records',
      );
      const whole = { ...config, on_rewrite: 'full_refresh' };
      expect(byId((await runSource(icebergSource, whole, { bookmark: last })).records)).toEqual([
        row(1),
        row(2),
        row(4),
      ]);
    });

    run('it reads all types as they were written', async () => {
      const table = fresh();
      const schema: RecordSchema = {
        fields: TYPES.map(([name, type]) => ({ name, type, nullable: true })),
      };
      const full = Object.fromEntries(TYPES.map(([name, , value]) => [name, value]));
      const empty = Object.fromEntries(TYPES.map(([name]) => [name, null]));
      await write(table, [[full, empty]], { schema });
      const { rows, types } = await ask('read', table);
      const [first, second] = rows as JsonObject[];
      for (const [name, , , type, value] of TYPES) {
        const theirs = jsonText((types as JsonObject)[name] ?? '').replace(/\d+(?=: d:)/, 'ID');
        expect([name, theirs]).toEqual([name, type]);
        expect([name, first?.[name], second?.[name]]).toEqual([name, value, null]);
      }
      expect(await read(table)).toEqual([
        Object.fromEntries(TYPES.map(([name, , value, , , back = value]) => [name, back])),
        empty,
      ]);
    });

    run.each(PARTITIONS)(
      'it finds the records of partitions by %s of %s',
      async (transform, source, where, count) => {
        const table = fresh();
        const schema: RecordSchema = {
          fields: COLUMNS.map(([name, type]) => ({ name, type, nullable: true })),
        };
        const pages = [ROWS.slice(0, 25), ROWS.slice(25)];
        await write(table, pages, { schema, config: { partition_spec: [{ source, transform }] } });
        const all = await ask('read', table, { partitions: true });
        expect((all['rows'] as JsonValue[]).length).toBe(ROWS.length);
        const found = await ask('read', table, { where });
        expect((found['rows'] as JsonValue[]).length).toBe(count);
        expect(all['partitions']).not.toHaveLength(0);
        expect(byId(await read(table)).map(({ id }) => id)).toEqual(ROWS.map(({ id }) => id));
      },
    );

    run('both write to one table in turn, and columns are added', async () => {
      const table = fresh();
      await write(table, [[{ id: 1, v: 'a', day: null }]], {
        schema: {
          fields: [
            { name: 'id', type: { kind: 'int64' }, nullable: true },
            { name: 'v', type: { kind: 'utf8' }, nullable: true },
            { name: 'day', type: { kind: 'date' }, nullable: true },
          ],
        },
      });
      await ask('append', table, { rows: [{ id: 2, v: 'b' }] });
      await write(table, [[{ id: 3, v: 'c' }]]);
      await ask('respec', table, { add: [['id', 'bucket[4]']] });
      await write(table, [[{ id: 4 }], [{ id: 5 }]]);
      await ask('delete', table, { where: 'id == 2' });
      await write(table, [[{ id: 6 }]]);
      const { rows, snapshots } = await ask('read', table);
      expect(byId(rows as JsonValue[]).map(({ id }) => id)).toEqual([1, 3, 4, 5, 6]);
      expect(byId(await read(table)).map(({ id }) => id)).toEqual([1, 3, 4, 5, 6]);
      expect((snapshots as JsonObject[]).at(-1)?.['summary']).toMatchObject({
        operation: 'append',
        'added-records': '1',
        'total-records': '5',
      });
    });
  });

  test('it reads a table of a catalog that is files alone', async () => {
    const warehouse = `${folder}/files`;
    const config = {
      catalog: { type: 'file', warehouse },
      namespace: ['a', 'b'],
      table: 't',
      partition_spec: [{ source: 'v', transform: 'truncate[1]' }],
    };
    const checked = check(icebergSink.config, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await icebergSink.open(checked.value, sinkContext());
    await sink.write(
      Page.ofRecords([
        { id: 1, v: 'ab' },
        { id: 2, v: null },
      ]),
      { partial: false },
    );
    await sink.flush();
    await sink.write(Page.ofRecords([{ id: 3, v: 'x=/%' }]), { partial: false });
    await sink.flush();
    await sink.finish('success');
    await sink.close();
    const metadata = await readdir(`${warehouse}/a/b/t/metadata`);
    expect(metadata.filter((name) => name.startsWith('v')).toSorted()).toEqual([
      'v1.metadata.json',
      'v2.metadata.json',
      'v3.metadata.json',
      'version-hint.text',
    ]);
    const file = `${warehouse}/a/b/t/metadata/v3.metadata.json`;
    const { rows } = await other.ask('read', 'a.b.t', { file, catalog: {} });
    expect(byId(rows as JsonValue[])).toEqual([
      { id: 1, v: 'ab' },
      { id: 2, v: null },
      { id: 3, v: 'x=/%' },
    ]);
  });
});

type Typed = readonly [
  name: string,
  type: RecordType,
  value: JsonValue,
  theirs: string,
  read: unknown,
  back?: JsonValue,
];

const TYPES: readonly Typed[] = [
  ['flag', { kind: 'bool' }, true, 'boolean', true],
  ['i8', { kind: 'int8' }, -128, 'int', -128],
  ['u8', { kind: 'uint8' }, 255, 'int', 255],
  ['i32', { kind: 'int32' }, -7, 'int', -7],
  ['i64', { kind: 'int64' }, 42, 'long', 42],
  [
    'u64',
    { kind: 'uint64' },
    18_446_744_073_709_551_615n,
    'decimal(20, 0)',
    '18446744073709551615',
    '18446744073709551615',
  ],
  ['f32', { kind: 'float32' }, 1.5, 'float', 1.5],
  ['f64', { kind: 'float64' }, 0.1, 'double', 0.1],
  [
    'dec',
    { kind: 'decimal', precision: 38, scale: 9 },
    '-1.100000000',
    'decimal(38, 9)',
    '-1.100000000',
  ],
  ['text', { kind: 'utf8' }, 'é "x"', 'string', 'é "x"'],
  ['bytes', { kind: 'binary' }, 'AP8=', 'binary', '00ff'],
  ['day', { kind: 'date' }, '2024-02-29', 'date', '2024-02-29'],
  ['clock', { kind: 'time' }, '07:08:09.500', 'time', '07:08:09.500000'],
  [
    'at',
    { kind: 'timestamp', unit: 'us', zone: 'UTC' },
    '2024-05-06T07:08:09.123456Z',
    'timestamptz',
    '2024-05-06T07:08:09.123456+00:00',
  ],
  [
    'wall',
    { kind: 'timestamp', unit: 'us' },
    '2024-05-06T07:08:09.500',
    'timestamp',
    '2024-05-06T07:08:09.500000',
  ],
  [
    'uuid',
    { kind: 'uuid' },
    '00112233-4455-6677-8899-aabbccddeeff',
    'uuid',
    '00112233-4455-6677-8899-aabbccddeeff',
  ],
  ['json', { kind: 'json' }, { a: [1, null] }, 'string', '{"a":[1,null]}', '{"a":[1,null]}'],
  ['list', { kind: 'list', item: { kind: 'int16' } }, [1, null], 'list<int>', [1, null]],
  [
    'nested',
    { kind: 'struct', fields: [{ name: 'd', type: { kind: 'date' }, nullable: true }] },
    { d: '2024-01-01' },
    'struct<ID: d: optional date>',
    { d: '2024-01-01' },
  ],
  [
    'map',
    { kind: 'map', key: { kind: 'utf8' }, value: { kind: 'int64' } },
    { k: 1 },
    'map<string, long>',
    [['k', 1]],
  ],
];

const COLUMNS: readonly (readonly [string, RecordType])[] = [
  ['id', { kind: 'int64' }],
  ['v', { kind: 'utf8' }],
  ['day', { kind: 'date' }],
  ['at', { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
  ['dec', { kind: 'decimal', precision: 9, scale: 2 }],
  ['uuid', { kind: 'uuid' }],
  ['bytes', { kind: 'binary' }],
  ['flag', { kind: 'bool' }],
];
const ROWS = Array.from({ length: 40 }, (_, id): JsonObject => {
  const day = new Date(Date.UTC(1969, 10, 1 + id * 3)).toISOString().slice(0, 10);
  const half = id === 39;
  return {
    id: id - 10,
    v: half ? null : `é${id % 7} x`,
    day: half ? null : day,
    at: half ? null : `${day}T${String(id % 24).padStart(2, '0')}:30:00.000001Z`,
    dec: half ? null : `${id - 20}.50`,
    uuid: half ? null : `00112233-4455-6677-8899-aabbccddee${String(id + 10)}`,
    bytes: half ? null : Buffer.from([id % 5, 255]).toString('base64'),
    flag: half ? null : id % 2 === 0,
  };
});
const count = (keeps: (row: JsonObject) => boolean): number => ROWS.filter(keeps).length;
const MARCH = "day >= '1970-01-01' and day < '1970-02-01'";
const inJanuary = ({ day }: JsonObject): boolean =>
  jsonText(day ?? '') >= '1970-01-01' && jsonText(day ?? '') < '1970-02-01' && day !== null;
const PARTITIONS: readonly (readonly [string, string, string, number])[] = [
  ['identity', 'v', "v == 'é3 x'", count(({ v }) => v === 'é3 x')],
  ['identity', 'flag', 'flag == true', count(({ flag }) => flag === true)],
  ['identity', 'day', MARCH, count(inJanuary)],
  ['identity', 'dec', 'dec < -10', count(({ dec }) => dec !== null && Number(dec) < -10)],
  ['bucket[8]', 'id', 'id == 7', 1],
  ['bucket[8]', 'id', 'id == -7', 1],
  ['bucket[8]', 'v', "v == 'é3 x'", count(({ v }) => v === 'é3 x')],
  ['bucket[8]', 'dec', 'dec == -3.50', 1],
  ['bucket[8]', 'day', "day == '1970-01-03'", count(({ day }) => day === '1970-01-03')],
  [
    'bucket[8]',
    'at',
    "at < '1970-01-01T00:00:00+00:00'",
    count(({ at }) => at !== null && jsonText(at ?? '') < '1970'),
  ],
  ['truncate[10]', 'id', 'id >= -10 and id < 0', 10],
  ['truncate[2]', 'v', "v == 'é3 x'", count(({ v }) => v === 'é3 x')],
  ['truncate[300]', 'dec', 'dec < -10', count(({ dec }) => dec !== null && Number(dec) < -10)],
  ['year', 'day', MARCH, count(inJanuary)],
  ['month', 'day', MARCH, count(inJanuary)],
  [
    'day',
    'at',
    "at >= '1970-01-01T00:00:00+00:00' and at < '1970-02-01T00:00:00+00:00'",
    count(inJanuary),
  ],
  [
    'month',
    'at',
    "at < '1970-01-01T00:00:00+00:00'",
    count(({ at }) => at !== null && jsonText(at ?? '') < '1970'),
  ],
  [
    'hour',
    'at',
    "at < '1970-01-01T00:00:00+00:00'",
    count(({ at }) => at !== null && jsonText(at ?? '') < '1970'),
  ],
  ['void', 'id', 'id == 7', 1],
];
