import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  putFiles,
  snapshotsOf,
  tableFiles,
  type MadeFile,
  type MadeSnapshot,
} from '../../../test/conformance/fixtures/iceberg.ts';
import { sourceContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { icebergSink, icebergSource } from './index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-iceberg-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const location = (): string => `file://${folder}/ns/t`;
const put = (snapshots: readonly MadeSnapshot[], changes: JsonObject = {}): void =>
  putFiles(join(folder, 'ns/t'), tableFiles(location(), snapshots, changes));
const config = (more: JsonObject = {}): JsonObject => ({
  catalog: { type: 'file', warehouse: folder },
  table: 'ns.t',
  ...more,
});
const read = async (more: JsonObject = {}): Promise<readonly JsonObject[]> =>
  (await runSource(icebergSource, config(more))).records as JsonObject[];
const ids = async (more: JsonObject = {}): Promise<number[]> =>
  (await read(more)).map(({ id }) => Number(id));

const rows = (count: number, from = 0): JsonObject[] =>
  Array.from({ length: count }, (_, index) => {
    const id = from + index;
    return { id, v: `v${id % 4}`, half: id / 2 };
  });

const positions = (file: string, numbers: readonly number[]): MadeFile => ({
  content: 1,
  rows: numbers.map((pos) => ({ file_path: `${location()}/data/${file}.parquet`, pos })),
  columns: [
    { name: 'file_path', id: 2_147_483_546, type: 'STRING' },
    { name: 'pos', id: 2_147_483_545, type: 'INT64' },
  ],
});
const values = (given: readonly JsonObject[], columns: MadeFile['columns']): MadeFile => ({
  content: 2,
  rows: given,
  columns: columns ?? [],
  equalityIds: (columns ?? []).map(({ id = 0 }) => id),
});

describe('deletes', () => {
  test('by position leave out rows of the file that they name, across row groups', async () => {
    put([
      { files: [{ rows: rows(20) }, { rows: rows(20, 20) }] },
      { files: [positions('1-0', [0, 5, 6, 7, 19])], operation: 'delete' },
    ]);
    const left = Array.from({ length: 40 }, (_, id) => id).filter(
      (id) => ![0, 5, 6, 7, 19].includes(id),
    );
    expect(await ids()).toEqual(left);
    expect(await ids({ columns: ['v'] })).toHaveLength(left.length);
    expect(await ids({ snapshot_id: '1' })).toHaveLength(40);
  });

  test('by position of the same commit hold, and by value hold only for what was there before', async () => {
    put([
      { files: [{ rows: rows(10) }] },
      {
        files: [
          { rows: rows(10, 10) },
          positions('2-0', [3]),
          values([{ v: 'v1' }], [{ name: 'v', id: 2, type: 'STRING' }]),
        ],
        operation: 'overwrite',
      },
      { files: [{ rows: rows(2, 100) }] },
    ]);
    const kept = [0, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 16, 17, 18, 19, 100, 101];
    expect(await ids()).toEqual(kept);
    // The column that tells them is read, and not given.
    expect(await read({ columns: ['id'] })).toEqual(kept.map((id) => ({ id })));
  });

  test('by two values, one of them null, leave out what has both', async () => {
    const made = [
      { id: 1, v: null, half: 1 },
      { id: 1, v: 'a', half: 2 },
      { id: 2, v: null, half: 3 },
    ];
    const columns = [
      { name: 'id', id: 1, type: 'INT64' },
      { name: 'v', id: 2, type: 'STRING' },
    ];
    put([
      { files: [{ rows: made }] },
      { files: [values([{ id: 1, v: null }], columns)], operation: 'delete' },
    ]);
    expect(await read()).toEqual(made.slice(1));
  });

  test('in another format, and by fields that are no columns, are refused', async () => {
    put([
      { files: [{ rows: rows(3) }] },
      { files: [{ ...positions('1-0', [0]), format: 'PUFFIN' }] },
    ]);
    await expect(read()).rejects.toThrow('lists deletes in the format puffin');
    put([
      { files: [{ rows: rows(3) }] },
      { files: [values([{ x: 'a' }], [{ name: 'x', id: 77, type: 'STRING' }])] },
    ]);
    await expect(read()).rejects.toThrow('deletes by the field 77');
  });
});

test('files without ids are read by the mapping of names, or by name', async () => {
  const columns = [
    { name: 'number', type: 'INT64' },
    { name: 'v', type: 'STRING' },
  ];
  const file = { rows: [{ number: 1, v: 'a' }], columns };
  const mapping = [
    { 'field-id': 1, names: ['id', 'number'] },
    { 'field-id': 2, names: ['v'] },
  ];
  put([{ files: [file] }]);
  expect(await read()).toEqual([{ id: null, v: 'a', half: null }]);
  const properties = { 'schema.name-mapping.default': JSON.stringify(mapping) };
  put([{ files: [file] }], { properties });
  expect(await read()).toEqual([{ id: 1, v: 'a', half: null }]);
});

describe('a filter', () => {
  const FILTERS: readonly (readonly [string, (row: JsonObject) => boolean])[] = [
    ['id = 3', ({ id }) => id === 3],
    ['id != 3', ({ id }) => id !== 3],
    ['id < 3 or id >= 18', ({ id }) => Number(id) < 3 || Number(id) >= 18],
    ['id <= 3 AND half > 0.5', ({ id }) => id === 2 || id === 3],
    ["v in ('v1', 'v2')", ({ v }) => v === 'v1' || v === 'v2'],
    ["v not in ('v1', 'v2')", ({ v }) => v === 'v0' || v === 'v3'],
    ["v starts_with 'v1'", ({ v }) => v === 'v1'],
    ["not (v starts_with 'v1') and id < 4", ({ v, id }) => v !== 'v1' && Number(id) < 4],
    ['v is null', ({ v }) => v === null],
    ['v is not null', ({ v }) => v !== null],
    ['"half" = 1.5', ({ half }) => half === 1.5],
  ];
  test.each(FILTERS)('%s', async (filter, keeps) => {
    const all = [...rows(20), { id: 20, v: null, half: null }];
    put([{ files: [{ rows: all }] }]);
    const known = all.filter(
      (row) => keeps(row) && (row.v !== null || !/\bv\b/.test(filter) || filter.endsWith('null')),
    );
    const expected = filter.includes('half') ? known.filter(({ half }) => half !== null) : known;
    expect(await read({ filter })).toEqual(expected);
    expect(await read({ filter, columns: ['half'] })).toEqual(
      expected.map(({ half }) => ({ half })),
    );
  });

  test.each([
    ['id =', 'it ends where a value is needed'],
    ['id = a', '`a` stands where a value is needed; texts stand in single quotes'],
    ['id 3', 'no comparison stands behind `id`'],
    ['(id = 3', '`)` is missing'],
    ['id = 3 4', '`4` stands behind its end'],
    ['id is 3', '`null` is missing behind `is`'],
    ['id = 3 ; drop', 'what stands at character 7 is not understood'],
  ])('%s is told at load', (filter, message) => {
    const checked = check(icebergSource.config, config({ filter }));
    expect(checked.ok ? [] : checked.issues.map((issue) => issue.message)).toEqual([
      `this is no filter: ${message}`,
    ]);
  });

  test('with a value that its column cannot have is told', async () => {
    put([{ files: [{ rows: rows(3) }] }]);
    await expect(read({ filter: "id = 'x'" })).rejects.toThrow('"x" is no long, which `id` is');
    await expect(read({ filter: "id starts_with 'x'" })).rejects.toThrow('needs a column of texts');
    await expect(read({ filter: 'nothing = 1' })).rejects.toThrow('has no column "nothing"');
  });
});

describe('mode incremental', () => {
  const since = async (bookmark: JsonValue, more: JsonObject = {}) => {
    const run = await runSource(icebergSource, config({ mode: 'incremental', ...more }), {
      bookmark,
    });
    return {
      ids: run.records.map((one) => Number((one as JsonObject)['id'])),
      bookmarks: run.bookmarks,
    };
  };
  const three = (): MadeSnapshot[] => snapshotsOf([rows(2), rows(2, 10), rows(2, 20)]);

  test('reads what each snapshot added, with a bookmark behind each', async () => {
    put(three());
    expect(await since({ snapshot_id: 1 })).toEqual({
      ids: [10, 11, 20, 21],
      bookmarks: [{ snapshot_id: 2 }, { snapshot_id: 3 }],
    });
    expect((await since({ snapshot_id: '2' })).ids).toEqual([20, 21]);
    expect(await since({ snapshot_id: 3 })).toEqual({ ids: [], bookmarks: [] });
  });

  test('passes over files that were only written anew', async () => {
    put([...three(), { files: [{ rows: rows(6, 50) }], operation: 'replace' }]);
    expect((await since({ snapshot_id: 2 })).ids).toEqual([20, 21]);
  });

  test('ends where records were changed, or the snapshot of the bookmark is gone, unless told', async () => {
    put([...three(), { files: [{ rows: rows(1, 90) }], operation: 'overwrite' }]);
    await expect(since({ snapshot_id: 2 })).rejects.toThrow('(operation `overwrite`)');
    const whole = await since({ snapshot_id: 2 }, { on_rewrite: 'full_refresh' });
    expect(whole).toEqual({ ids: [0, 1, 10, 11, 20, 21, 90], bookmarks: [{ snapshot_id: 4 }] });
    await expect(since({ snapshot_id: 77 })).rejects.toThrow('is none of its current history');
    expect((await since({ snapshot_id: 77 }, { on_expired: 'full_refresh' })).ids).toHaveLength(7);
    await expect(since({ other: 1 })).rejects.toThrow('the bookmark names no snapshot');
  });
});

test('as_of_timestamp reads what was the current snapshot then', async () => {
  put(snapshotsOf([rows(1), rows(1, 1), rows(1, 2)]));
  expect(await ids({ as_of_timestamp: '2026-01-01T00:00:00Z' })).toEqual([0]);
  expect(await ids({ as_of_timestamp: '2026-01-02T12:00:00+01:00' })).toEqual([0, 1]);
  expect(await ids({ as_of_timestamp: '2030-01-01' })).toEqual([0, 1, 2]);
  await expect(ids({ as_of_timestamp: '2025-12-31' })).rejects.toThrow(
    'the oldest one that it knows is of 2026-01-01T00:00:00.000Z',
  );
});

test('the files of a table are shared among shards, each read by one', async () => {
  put([{ files: Array.from({ length: 9 }, (_, file) => ({ rows: rows(2, file * 10) })) }]);
  const parts = await Promise.all(
    [0, 1, 2].map((index) =>
      runSource(icebergSource, config(), { context: { share: { index, count: 3 } } }),
    ),
  );
  const all = parts.flatMap(({ records }) =>
    records.map((one) => Number((one as JsonObject)['id'])),
  );
  expect(all.toSorted((a, b) => a - b)).toEqual(await ids());
  expect(parts.filter(({ records }) => records.length > 0).length).toBeGreaterThan(1);
});

describe('what cannot be read is refused by its name', () => {
  test.each([
    [{ 'format-version': 3 }, 'version 3 of the format'],
    [
      {
        schemas: [
          { 'schema-id': 0, type: 'struct', fields: [{ id: 1, name: 'x', type: 'variant' }] },
        ],
      },
      'a type that is not known: "variant"',
    ],
    [{ 'current-snapshot-id': 99 }, 'does not have its current snapshot 99'],
    [{ location: null }, 'says no location'],
    [{ 'partition-specs': [], 'default-spec-id': 7 }, 'has no partition spec'],
  ])('%j', async (changes, message) => {
    put([{ files: [{ rows: rows(1) }] }], changes);
    await expect(read()).rejects.toThrow(message);
  });

  test('data files in other formats, and metadata that is no JSON', async () => {
    put([{ files: [{ rows: rows(1), format: 'ORC' }] }]);
    await expect(read()).rejects.toThrow('is a data file in the format orc');
    writeFileSync(join(folder, 'ns/t/metadata/v9.metadata.json'), '{');
    await expect(read()).rejects.toThrow('is not JSON');
  });
});

test('discover lists tables with their columns, and its patch reads them', async () => {
  put(snapshotsOf([rows(3)]));
  const checked = check(icebergSource.config, config({ table: 'any.thing' }));
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const found = await icebergSource.discover?.(checked.value, sourceContext());
  expect(found).toEqual([
    {
      name: 'ns.t',
      kind: 'table',
      schema: {
        type: 'object',
        properties: {
          id: { type: ['integer', 'null'] },
          v: { type: ['string', 'null'] },
          half: { type: ['number', 'null'] },
        },
      },
      config_patch: { table: 'ns.t' },
    },
  ]);
});

test('the doctor says whether the catalog knows the table, and whether it can be written', async () => {
  const source = check(icebergSource.config, config());
  const sink = check(icebergSink.config, {
    catalog: { type: 'file', warehouse: folder },
    namespace: ['ns'],
    table: 't',
  });
  if (!source.ok || !sink.ok) throw new Error('cannot happen');
  const { sinkContext } = await import('../../../test/fakes/env.ts');
  expect(await icebergSink.probe?.(sink.value, sinkContext())).toEqual([
    { name: 'catalog', status: 'pass' },
  ]);
  expect(await icebergSource.probe?.(source.value, sourceContext())).toEqual([
    {
      name: 'catalog',
      status: 'fail',
      reason: 'the catalog has no table `ns.t`',
      hint: 'check the namespace and the name; `discover` lists the tables of a catalog',
    },
  ]);
  put(snapshotsOf([rows(1)]), { 'format-version': 1 });
  expect(await icebergSource.probe?.(source.value, sourceContext())).toEqual([
    { name: 'catalog', status: 'pass' },
  ]);
  expect(await icebergSink.probe?.(sink.value, sinkContext())).toMatchObject([
    { status: 'fail', reason: 'the table ns.t has version 1 of the format, which is only read' },
  ]);
});

test('settings that say too much or something wrong are told', () => {
  const paths = (more: JsonObject): string[] => {
    const checked = check(icebergSource.config, config(more));
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };
  expect(paths({ snapshot_id: 3_051_729_675_574_597_004n, concurrency: '8' })).toEqual([]);
  expect(paths({ table: 't' })).toEqual(['table']);
  expect(paths({ snapshot_id: '1', as_of_timestamp: '2026-01-01' })).toEqual(['as_of_timestamp']);
  expect(paths({ as_of_timestamp: 'yesterday' })).toEqual(['as_of_timestamp']);
  expect(paths({ mode: 'incremental', snapshot_id: '1' })).toEqual(['snapshot_id']);
  expect(paths({ snapshot_id: 'first' })).toEqual(['snapshot_id']);
});
