/** Commits beside other writers, columns, partitions, stores that lose answers, watermarks. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { startFakeS3, type FakeS3 } from '../../../test/fakes/s3-server.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { deltaSink, deltaSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-delta-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let tables = 0;
let table: string;
const opened: Sink[] = [];
beforeEach(() => {
  table = join(folder, `table-${(tables += 1)}`);
});
afterEach(async () => {
  for (const sink of opened.splice(0)) await sink.close();
});

async function open(config: JsonObject = {}, context: Partial<SinkContext> = {}): Promise<Sink> {
  const checked = check(deltaSink.config, { table_uri: table, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await deltaSink.open(checked.value, { ...sinkContext(), ...context });
  opened.push(sink);
  return sink;
}
const put = (sink: Sink, records: readonly JsonValue[], schema?: RecordSchema) =>
  sink.write(Page.ofRecords([...records], { schema }), { partial: false });
async function write(config: JsonObject, ...pages: (readonly JsonValue[])[]): Promise<void> {
  const sink = await open(config);
  for (const page of pages) {
    await put(sink, page);
    await sink.flush();
  }
  await sink.finish('success');
}
const read = async (config: JsonObject = {}) =>
  (await runSource(deltaSource, { table_uri: table, ...config })).records as JsonObject[];
const ids = async (config?: JsonObject) =>
  (await read(config)).map(({ id }) => Number(id)).toSorted((a, b) => a - b);
const logOf = (version: number): JsonObject[] =>
  readFileSync(join(table, `_delta_log/${String(version).padStart(20, '0')}.json`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject);
const dataFiles = (): string[] =>
  readdirSync(table, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /part-[^/]*\.parquet$/.test(name),
  );
function changeMetadata(change: (metaData: Record<string, unknown>) => void): void {
  const lines = logOf(0).map((line) => {
    if (line['metaData'] !== undefined) change(line['metaData'] as Record<string, unknown>);
    return JSON.stringify(line);
  });
  writeFileSync(join(table, `_delta_log/${'0'.repeat(20)}.json`), lines.join('\n'));
}

describe('writers at the same time', () => {
  test('each make versions of their own, and none is lost', async () => {
    const writers = await Promise.all(Array.from({ length: 4 }, () => open()));
    await Promise.all(
      writers.map(async (sink, writer) => {
        for (let page = 0; page < 6; page += 1) {
          await put(sink, [{ id: writer * 10 + page }]);
          await sink.flush();
        }
      }),
    );
    expect(await ids()).toEqual(
      Array.from({ length: 24 }, (_, index) => Math.floor(index / 6) * 10 + (index % 6)),
    );
    expect(existsSync(join(table, '_delta_log/00000000000000000023.json'))).toBe(true);
    expect(existsSync(join(table, '_delta_log/00000000000000000024.json'))).toBe(false);
  });

  test('may both add columns', async () => {
    await write({}, [{ id: 0 }]);
    const [one, other] = await Promise.all([
      open({ merge_schema: true }),
      open({ merge_schema: true }),
    ]);
    await put(one, [{ id: 1, a: 'x' }]);
    await put(other, [{ id: 2, b: 1.5 }]);
    await one.flush();
    await other.flush();
    expect((await read()).toSorted((a, b) => Number(a['id']) - Number(b['id']))).toEqual([
      { id: 0, a: null, b: null },
      { id: 1, a: 'x', b: null },
      { id: 2, a: null, b: 1.5 },
    ]);
  });

  test('fail, and leave nothing, where the table has other columns by then', async () => {
    await write({}, [{ id: 0 }]);
    const [one, other] = await Promise.all([
      open({ merge_schema: true }),
      open({ merge_schema: true }),
    ]);
    await put(one, [{ id: 1, a: 'x' }]);
    await put(other, [{ id: 2, a: 1.5 }]);
    await one.flush();
    await expect(other.flush()).rejects.toThrow('the column "a" has become string');
    await other.finish('failed');
    expect(await ids()).toEqual([0, 1]);
    expect(dataFiles()).toHaveLength(2);
  });

  test('an overwrite replaces what came while it ran', async () => {
    await write({}, [{ id: 0 }]);
    const sink = await open({ write_mode: 'overwrite' });
    await put(sink, [{ id: 5 }]);
    await write({}, [{ id: 1 }]);
    await sink.finish('success');
    expect(await ids()).toEqual([5]);
    expect(await ids({ version: 1 })).toEqual([0, 1]);
  });
});

describe('columns', () => {
  test('that are not there are counted and left out, or added where that is asked for', async () => {
    await write({}, [{ id: 1 }]);
    const sink = await open();
    const result = await put(sink, [
      { id: 2, more: 'x', none: null },
      { id: 3, more: 'y' },
    ]);
    expect(result.unknownFields).toEqual(new Map([['more', 2]]));
    await sink.finish('success');
    await write({ merge_schema: true }, [{ id: 4, none: null }]);
    expect(await read({ columns: ['id'] })).toHaveLength(2);
    const merging = await open({ merge_schema: true });
    await put(merging, [{ id: 5, more: 'x' }]);
    // In the middle of a commit as well.
    await put(merging, [{ id: 6, other: [1] }]);
    await merging.flush();
    expect((await read()).at(-1)).toEqual({ id: 6, more: null, other: [1] });
    expect(logOf(2).filter((line) => 'add' in line)).toHaveLength(2);
  });

  test('of a page that does not fit are refused as a whole, and the page before stays', async () => {
    const sink = await open({ partition_by: ['day'], schema_sample_size: 1 });
    await put(sink, [{ id: 1, day: 'a' }]);
    await expect(
      put(sink, [
        { id: 2, day: 'b' },
        { id: 'x', day: 'c' },
      ]),
    ).rejects.toThrow('the field "id" is integer, but a record has string there');
    await sink.flush();
    expect(await ids()).toEqual([1]);
  });

  test('that must have a value are not null', async () => {
    await write({}, [{ id: 1, inner: { a: 1 } }]);
    changeMetadata((metaData) => {
      const text = metaData['schemaString'] as string;
      metaData['schemaString'] = text.replaceAll('"nullable":true', '"nullable":false');
    });
    const sink = await open();
    await expect(put(sink, [{ id: 2, inner: { a: null } }])).rejects.toThrow(
      'does not allow null in the column "inner.a"',
    );
    await expect(put(sink, [{ inner: { a: 1 } }])).rejects.toThrow('null in the column "id"');
    await put(sink, [{ id: 2, inner: { a: 2 } }]);
    await sink.flush();
    expect(await ids()).toEqual([1, 2]);
  });

  test('whose names differ in case alone are refused', async () => {
    const sink = await open();
    await put(sink, [{ id: 1, ID: 2 }]);
    await expect(sink.flush()).rejects.toThrow('differ in case alone');
  });

  test.each([
    [['none'], 'which no record has'],
    [['list'], 'which is array'],
    [['id', 'list', 'name'], 'which is array'],
  ])('%j are none to partition by', async (partition_by, message) => {
    const sink = await open({ partition_by });
    await put(sink, [{ id: 1, name: 'a', list: [1] }]);
    await expect(sink.flush()).rejects.toThrow(message);
    expect(existsSync(table)).toBe(false);
  });
});

test('a partition column holds no empty text, and its folders are named for all systems', async () => {
  const sink = await open({ partition_by: ['p'] });
  await put(sink, [{ id: 1, p: '' }]);
  await expect(sink.flush()).rejects.toThrow('the field "p" is empty text');
  await sink.finish('failed');
  const values = ['../up', '.', 'a/b', 'é %20', 'x'.repeat(300), null];
  await write(
    { partition_by: ['p'] },
    values.map((p, id) => ({ id, p })),
  );
  expect((await read()).map(({ p }) => p)).toEqual(values);
  expect(readdirSync(folder)).not.toContain('up');
});

test.each([
  [
    { 'delta.constraints.positive': 'id > 0' },
    { minReaderVersion: 1, minWriterVersion: 3 },
    '`checkConstraints`',
  ],
  [
    { 'delta.columnMapping.mode': 'name' },
    { minReaderVersion: 2, minWriterVersion: 5 },
    '`columnMapping`',
  ],
  [
    {},
    { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ['rowTracking', 'appendOnly'] },
    '`rowTracking`',
  ],
  [{}, { minReaderVersion: 1, minWriterVersion: 8 }, 'version 8 of writers'],
])('a table with %j and %j is not written', async (configuration, protocol, message) => {
  await write({}, [{ id: 1 }]);
  changeMetadata((metaData) => (metaData['configuration'] = configuration));
  const later = JSON.stringify({ protocol });
  writeFileSync(join(table, `_delta_log/${'0'.repeat(19)}1.json`), later);
  const sink = await open();
  await expect(put(sink, [{ id: 2 }])).rejects.toThrow(message);
  expect(await ids()).toEqual([1]);
});

test('a table that may only grow is not overwritten', async () => {
  await write({}, [{ id: 1 }]);
  changeMetadata((metaData) => (metaData['configuration'] = { 'delta.appendOnly': 'true' }));
  await write({}, [{ id: 2 }]);
  await expect(write({ write_mode: 'overwrite' }, [{ id: 3 }])).rejects.toThrow(
    'nothing may be removed',
  );
  expect(await ids()).toEqual([1, 2]);
});

test('a run that fails removes the files that no commit names', async () => {
  await write({}, [{ id: 1 }]);
  const configs: JsonObject[] = [{}, { write_mode: 'overwrite' }, { target_file_size: 1 }];
  for (const config of configs) {
    const sink = await open(config);
    await put(sink, [{ id: 2 }]);
    await put(sink, [{ id: 3 }]);
    await sink.finish('failed');
    await sink.close();
  }
  expect(dataFiles()).toHaveLength(1);
});

test('data files end at the size that is asked for, and are one commit', async () => {
  const sink = await open({ target_file_size: 1 });
  for (const id of [1, 2, 3])
    await put(
      sink,
      Array.from({ length: 100 }, () => ({ id })),
    );
  await sink.flush();
  expect(logOf(0).filter((line) => 'add' in line)).toHaveLength(3);
  expect(await ids()).toHaveLength(300);
});

test('statistics hold for every value of the file', async () => {
  const high = '\uFFFD'.repeat(40);
  const rows = [
    { id: 9_007_199_254_740_993n, f: 1, t: high, at: '2024-05-06T07:08:09.123456Z' },
    { id: -1, f: null, t: '\u{1F600}', at: '2024-05-06T07:08:09.1Z' },
  ];
  const sink = await open();
  const schema: RecordSchema = {
    fields: [{ name: 'at', type: { kind: 'timestamp', unit: 'us', zone: 'UTC' }, nullable: true }],
    others: true,
  };
  await put(sink, rows, schema);
  await sink.flush();
  const add = logOf(0).find((line) => 'add' in line)?.['add'] as JsonObject;
  expect(add['stats']).toContain('"id":9007199254740993');
  expect(JSON.parse(add['stats'] as string)).toMatchObject({
    numRecords: 2,
    nullCount: { id: 0, f: 1, t: 0, at: 0 },
    minValues: { id: -1, f: 1, t: '\uFFFD'.repeat(32), at: '2024-05-06T07:08:09.100Z' },
    maxValues: { f: 1, t: '\u{1F600}', at: '2024-05-06T07:08:09.124Z' },
  });
});

describe('watermarks', () => {
  test('are refused for an execution that another server took over', async () => {
    const first = await open({}, { runId: 'r', claim: 1 });
    await first.tokens?.last('s');
    await first.tokens?.write(Page.ofRecords([{ id: 1 }]), 's', '1');
    const second = await open({}, { runId: 'r', claim: 2 });
    expect(await second.tokens?.last('s')).toBe('1');
    await expect(first.tokens?.write(Page.ofRecords([{ id: 2 }]), 's', '2')).rejects.toThrow(
      'another server took over the run',
    );
    await second.tokens?.write(Page.ofRecords([{ id: 3 }]), 's', '2');
    expect(await ids()).toEqual([1, 3]);
  });

  test('are kept by a table without columns until the first page of a run that was taken over', async () => {
    const config = { partition_by: ['day'] };
    const [first, second] = [
      await open(config, { runId: 'r', claim: 1 }),
      await open(config, { runId: 'r', claim: 2 }),
    ];
    const page = Page.ofRecords([{ id: 1, day: 'mon' }]);
    await first.tokens?.last('s');
    expect(existsSync(join(table, '_delta_log'))).toBe(false);
    expect(await second.tokens?.last('s')).toBeUndefined();
    expect(await second.schema?.current()).toBeUndefined();
    await expect(first.tokens?.write(page, 's', '1')).rejects.toThrow('took over the run');
    expect(await ids()).toEqual([]);
    await second.tokens?.write(page, 's', '1');
    expect(await ids()).toEqual([1]);
    const made = logOf(1).find((line) => 'metaData' in line)?.['metaData'] as JsonObject;
    expect(made['partitionColumns']).toEqual(['day']);
    expect(await (await open(config)).tokens?.last('s')).toBe('1');
  });

  test('survive a checkpoint, and say so when their commit was cleaned up', async () => {
    const sink = await open();
    await sink.tokens?.last('s');
    await sink.tokens?.write(Page.ofRecords([{ id: 0 }]), 's', 'token');
    await write({}, ...Array.from({ length: 11 }, (_, id) => [{ id: id + 1 }]));
    expect(await (await open()).tokens?.last('s')).toBe('token');
    rmSync(join(table, `_delta_log/${'0'.repeat(20)}.json`));
    await expect((await open()).tokens?.last('s')).rejects.toThrow('was cleaned up');
    expect(await ids()).toHaveLength(12);
  });
});

describe('in a store', () => {
  let store: FakeS3;
  beforeEach(async () => {
    store = await startFakeS3();
    store.buckets.set('b', new Map());
  });
  afterEach(() => store.close());
  const config = (): JsonObject => ({
    table_uri: 's3://b/lake/t',
    storage_options: {
      aws_access_key_id: 'id',
      aws_secret_access_key: 'sEcReT-key',
      aws_region: 'x',
      aws_endpoint_url: store.url,
      allow_http: 'true',
    },
  });
  const isCommit = ({ method, key }: { readonly method: string; readonly key: string }): boolean =>
    method === 'PUT' && /\d{20}\.json$/.test(key);

  test('a commit whose answer was lost is made once', async () => {
    let lost = 0;
    store.fail((request) =>
      isCommit(request) && (lost += 1) === 1 ? { losesAnswer: true } : undefined,
    );
    await write(config(), [{ id: 1 }], [{ id: 2 }]);
    expect(lost).toBeGreaterThan(2);
    expect(await ids(config())).toEqual([1, 2]);
    expect(
      [...(store.buckets.get('b')?.keys() ?? [])].filter((key) => key.endsWith('.json')),
    ).toHaveLength(2);
  });

  test('two writers do not replace the commits of each other', async () => {
    await write(config(), [{ id: 0 }]);
    const pages = (from: number) => Array.from({ length: 5 }, (_, index) => [{ id: from + index }]);
    await Promise.all([write(config(), ...pages(10)), write(config(), ...pages(20))]);
    expect(await ids(config())).toEqual([0, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24]);
  });

  test('that takes no notice of conditions nothing is written', async () => {
    const objects = store.buckets.get('b');
    store.fail((request) => {
      if (request.headers['if-none-match'] === '*') objects?.delete(request.key);
      return undefined;
    });
    await expect(write(config(), [{ id: 1 }])).rejects.toThrow(
      'takes no notice of `If-None-Match`',
    );
    expect([...(objects?.keys() ?? [])].filter((key) => key.includes('_delta_log'))).toEqual([]);
  });
});

test.each(['create_table', 'create_if_missing', 'create_if_not_missing'])(
  'a table that is not there is not made with `%s: false`',
  async (name) => {
    const sink = await open({ [name]: false });
    const written = put(sink, [{ id: 1 }]).then(() => sink.flush());
    await expect(written).rejects.toMatchObject({ kind: 'missing' });
    expect(existsSync(table)).toBe(false);
  },
);
