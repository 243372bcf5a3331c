import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, assert, beforeEach, describe, expect, test, vi } from 'vitest';
import { latestMetadata, rowsOfTable } from '../../../test/conformance/fixtures/iceberg.ts';
import { sinkContext } from '../../../test/fakes/env.ts';
import { Page } from '../../kit/page.ts';
import type { SinkContext } from '../../kit/context.ts';
import type { Sink } from '../../kit/sink.ts';
import { check } from '../../kit/schema.ts';
import { parseJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { CommitUnknown } from './catalog/catalog.ts';
import { FileCatalog } from './catalog/file-catalog.ts';
import { SqlCatalog } from './catalog/sql-catalog.ts';
import { icebergSink, icebergSource } from './index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-iceberg-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const table = (): string => join(folder, 'lake/ns/t');
const catalogs: Readonly<Record<string, () => JsonObject>> = {
  file: () => ({ type: 'file', warehouse: `${folder}/lake` }),
  sql: () => ({
    type: 'sql',
    uri: `sqlite://${folder}/catalog.db?mode=rwc`,
    warehouse: `${folder}/lake`,
  }),
};

async function open(more: JsonObject = {}, context: Partial<SinkContext> = {}): Promise<Sink> {
  const given = { catalog: catalogs['file']?.() ?? {}, namespace: ['ns'], table: 't', ...more };
  const checked = check(icebergSink.config, given);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return icebergSink.open(checked.value, { ...sinkContext(), ...context });
}

async function write(
  records: readonly JsonValue[],
  more: JsonObject = {},
  context: Partial<SinkContext> = {},
): Promise<void> {
  const sink = await open(more, context);
  try {
    await sink.write(Page.ofRecords([...records]), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

const names = () => readdir(table(), { recursive: true }).catch(() => []);
const content = (name: string) => readFile(join(table(), name));
const metadata = async (): Promise<JsonObject> =>
  (await latestMetadata(await names(), content)) ?? {};
const ids = async (): Promise<number[]> =>
  ((await rowsOfTable(await names(), content)) ?? []).map(({ id }) => Number(id));
const dataFiles = (): string[] =>
  readdirSync(table(), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.parquet'));
const summaries = async (): Promise<JsonObject[]> =>
  ((await metadata())['snapshots'] as JsonObject[]).map((one) => one['summary'] as JsonObject);

describe.each(Object.keys(catalogs))('a catalog of type %s', (type) => {
  const catalog = (): JsonObject => catalogs[type]?.() ?? {};

  test('takes commits of two writers, the slower one behind the other', async () => {
    const [a, b] = [await open({ catalog: catalog() }), await open({ catalog: catalog() })];
    await a.write(Page.ofRecords([{ id: 1, v: 'a' }]), { partial: false });
    await a.flush();
    await b.write(Page.ofRecords([{ id: 2, v: 'b' }]), { partial: false });
    await a.write(Page.ofRecords([{ id: 3, v: 'c' }]), { partial: false });
    await b.flush();
    await a.flush();
    await a.close();
    await b.close();
    expect((await ids()).toSorted((one, other) => one - other)).toEqual([1, 2, 3]);
    const snapshots = (await metadata())['snapshots'] as JsonObject[];
    expect(snapshots.map((one) => one['sequence-number'])).toEqual([1, 2, 3]);
    expect((await summaries()).at(-1)).toMatchObject({ 'total-records': '3' });
  });

  test('a commit whose answer was lost is made once', async () => {
    await write([{ id: 1, v: 'a' }], { catalog: catalog() });
    const kind = type === 'file' ? FileCatalog : SqlCatalog;
    const real = kind.prototype.commit;
    for (const when of ['before', 'after']) {
      const sink = await open({ catalog: catalog() });
      await sink.write(Page.ofRecords([{ id: 2, v: when }]), { partial: false });
      let lost = 0;
      kind.prototype.commit = async function lose(this: never, ...call: Parameters<typeof real>) {
        lost += 1;
        if (lost > 1) return real.apply(this, call);
        if (when === 'after') await real.apply(this, call);
        throw new CommitUnknown('connection', 'the answer was lost');
      };
      try {
        await sink.flush();
      } finally {
        kind.prototype.commit = real;
        await sink.close();
      }
    }
    expect(await ids()).toEqual([1, 2, 2]);
  });
});

test('a commit in doubt keeps its files, and says that it is in doubt', async () => {
  await write([{ id: 1, v: 'a' }]);
  const sink = await open({ cleanup_orphans_on_failure: true });
  await sink.write(Page.ofRecords([{ id: 2, v: 'b' }]), { partial: false });
  vi.spyOn(FileCatalog.prototype, 'commit').mockRejectedValue(
    new CommitUnknown('connection', 'the answer was lost'),
  );
  vi.spyOn(FileCatalog.prototype, 'load').mockRejectedValue(new Error('nobody answers'));
  try {
    await expect(sink.flush()).rejects.toThrow('the answer was lost');
    await sink.finish('failed');
  } finally {
    vi.restoreAllMocks();
    await sink.close();
  }
  expect(dataFiles()).toHaveLength(2);
  expect(await ids()).toEqual([1]);
});

describe('files of a run that failed', () => {
  test('are removed when they were not offered to the catalog', async () => {
    await write([{ id: 1, v: 'a' }]);
    const sink = await open();
    await sink.write(Page.ofRecords([{ id: 2, v: 'b' }]), { partial: false });
    await sink.finish('failed');
    await sink.close();
    expect(dataFiles()).toHaveLength(1);
  });

  test.each([
    [true, 1],
    [false, 2],
  ])('of a refused commit with cleanup_orphans_on_failure %s', async (cleans, left) => {
    await write([{ id: 1, v: 'a' }]);
    const settings = {
      cleanup_orphans_on_failure: cleans,
      snapshot_properties: { 'commit.retry.num-retries': '1', 'commit.retry.min-wait-ms': '1' },
    };
    const sink = await open(settings);
    await sink.write(Page.ofRecords([{ id: 2, v: 'b' }]), { partial: false });
    vi.spyOn(FileCatalog.prototype, 'commit').mockResolvedValue(false);
    try {
      await expect(sink.flush()).rejects.toThrow('other writers were faster 2 times');
      await sink.finish('failed');
    } finally {
      vi.restoreAllMocks();
      await sink.close();
    }
    expect(dataFiles()).toHaveLength(left);
    const lists = (await names()).filter((name) => name.includes('snap-'));
    expect(lists).toHaveLength(1);
  });
});

test('a table whose column another writer dropped is not written any more', async () => {
  await write([{ id: 1, v: 'a' }]);
  const sink = await open();
  await sink.write(Page.ofRecords([{ id: 2, v: 'b' }]), { partial: false });
  const raw = await metadata();
  const [schema] = raw['schemas'] as JsonObject[];
  const fields = ((schema?.['fields'] ?? []) as JsonObject[]).slice(0, 1);
  raw['schemas'] = [schema ?? {}, { ...schema, 'schema-id': 1, fields }];
  raw['current-schema-id'] = 1;
  const { metadataBytes } = await import('./catalog/metadata-files.ts');
  const { writeFile } = await import('node:fs/promises');
  await writeFile(join(table(), 'metadata/v3.metadata.json'), metadataBytes(raw));
  await expect(sink.flush()).rejects.toThrow(
    'another writer changed the table ns.t: it has no column "v"',
  );
  await sink.close();
});

describe('tokens', () => {
  const commit = async (token: string, records: readonly JsonObject[], context = {}) => {
    const sink = await open({}, context);
    try {
      await sink.tokens?.write(Page.ofRecords([...records]), 'p::r', token);
    } finally {
      await sink.close();
    }
  };
  const last = async (context = {}): Promise<string | undefined> => {
    const sink = await open({}, context);
    try {
      return await sink.tokens?.last('p::r');
    } finally {
      await sink.close();
    }
  };

  test('stand in the summary of the snapshot that holds their records', async () => {
    await commit('00000000000000000001', [{ id: 1, v: 'a' }]);
    await commit('00000000000000000002#{"a":[1]}', []);
    const told = (await summaries()).map((one) => [
      one['svc.commit-scope'],
      one['svc.commit-token'],
    ]);
    expect(told).toEqual([
      ['p::r', '00000000000000000001'],
      ['p::r', '00000000000000000002#{"a":[1]}'],
    ]);
    expect(await last()).toBe('00000000000000000002#{"a":[1]}');
  });

  test('outlive their snapshots, and those of programs that know summaries alone count', async () => {
    await commit('1', [{ id: 1, v: 'a' }]);
    await write([{ id: 2, v: 'b' }]);
    const version = (await names()).filter((name) => name.endsWith('.metadata.json')).length;
    const file = join(table(), `metadata/v${version}.metadata.json`);
    const raw = parseJson(String(await readFile(file))) as JsonObject;
    const [first, second] = raw['snapshots'] as JsonObject[];
    const { writeFile } = await import('node:fs/promises');
    const { metadataBytes } = await import('./catalog/metadata-files.ts');
    await writeFile(file, metadataBytes({ ...raw, snapshots: [second ?? {}] }));
    expect(await last()).toBe('1');
    const summary = {
      ...(second?.['summary'] as JsonObject),
      'svc.commit-scope': 'p::r',
      'svc.commit-token': '7',
    };
    await writeFile(
      file,
      metadataBytes({ ...raw, snapshots: [first ?? {}, { ...second, summary }] }),
    );
    expect(await last()).toBe('7');
  });

  test('of a run that another server took over are refused', async () => {
    await commit('1', [{ id: 1, v: 'a' }]);
    const [before, after] = [
      { runId: 'run', claim: 1 },
      { runId: 'run', claim: 2 },
    ];
    const old = await open({}, before);
    expect(await old.tokens?.last('p::r')).toBe('1');
    expect(await last(after)).toBe('1');
    await expect(
      old.tokens?.write(Page.ofRecords([{ id: 2, v: 'b' }]), 'p::r', '2'),
    ).rejects.toThrow('another server took over the run');
    await old.close();
    expect(await ids()).toEqual([1]);
  });

  test('of a run that was taken over before there was a table are refused', async () => {
    const config = { partition_spec: [{ source: 'v', transform: 'identity' }] };
    const old = await open(config, { runId: 'run', claim: 1 });
    const next = await open(config, { runId: 'run', claim: 2 });
    const page = Page.ofRecords([{ id: 1, v: 'a' }]);
    await old.tokens?.last('p::r');
    expect(await next.tokens?.last('p::r')).toBeUndefined();
    expect(await next.schema?.current()).toBeUndefined();
    await expect(old.tokens?.write(page, 'p::r', '1')).rejects.toThrow('took over the run');
    await next.tokens?.write(page, 'p::r', '1');
    await next.tokens?.write(Page.ofRecords([{ id: 2, v: 'b' }]), 'p::r', '2');
    await Promise.all([old.close(), next.close()]);
    expect(await ids()).toEqual([1, 2]);
    const again = await open(config);
    expect(await again.tokens?.last('p::r')).toBe('2');
    await again.close();
    const specs = (await metadata())['partition-specs'] as JsonObject[];
    expect(specs.at(-1)?.['fields']).toMatchObject([{ name: 'v', transform: 'identity' }]);
  });

  test('of two runs of the same row: the second one to commit is refused', async () => {
    await commit('1', [{ id: 1, v: 'a' }]);
    const [a, b] = [await open(), await open()];
    await a.tokens?.last('p::r');
    await b.tokens?.last('p::r');
    await a.tokens?.write(Page.ofRecords([{ id: 2, v: 'b' }]), 'p::r', '2');
    await expect(b.tokens?.write(Page.ofRecords([{ id: 2, v: 'b' }]), 'p::r', '2')).rejects.toThrow(
      'another run has written',
    );
    await a.close();
    await b.close();
    expect(await ids()).toEqual([1, 2]);
  });
});

describe('columns', () => {
  test('are added with `merge_schema`, and left out without', async () => {
    await write([{ id: 1, v: 'a' }]);
    await write([{ id: 2, v: 'b', extra: 'left out' }]);
    const row = { id: 3, v: null, extra: 'new' };
    await write([{ id: 4, v: 'd' }, row], { merge_schema: true });
    const { runSource } = await import('../../../test/fakes/run-source.ts');
    const { records } = await runSource(icebergSource, {
      catalog: catalogs['file']?.() ?? {},
      table: 'ns.t',
    });
    expect(records).toHaveLength(4);
    expect(records).toContainEqual(row);
    expect(records).toContainEqual({ id: 2, v: 'b', extra: null });
    expect((await metadata())['schemas']).toHaveLength(2);
  });

  test('of dead letters are added by themselves', async () => {
    await write([{ id: 1, error: 'x' }], {}, { role: 'dlq' });
    await write([{ id: 2, error: 'y', more: { a: 1 } }], {}, { role: 'dlq' });
    const schemas = (await metadata())['schemas'] as JsonObject[];
    const fields = (schemas.at(-1)?.['fields'] ?? []) as JsonObject[];
    expect(fields.map(({ id, name }) => [id, name])).toEqual([
      [1, 'id'],
      [2, 'error'],
      [3, 'more'],
    ]);
  });

  test('that are missing are counted, and a null where the table demands a value is rejected', async () => {
    await write([{ id: 1, v: 'a' }]);
    const file = join(table(), 'metadata/v2.metadata.json');
    const raw = parseJson(String(await readFile(file))) as JsonObject;
    const [schema] = raw['schemas'] as JsonObject[];
    const fields = ((schema?.['fields'] ?? []) as JsonObject[]).map((field) => ({
      ...field,
      required: true,
    }));
    const { writeFile } = await import('node:fs/promises');
    const { metadataBytes } = await import('./catalog/metadata-files.ts');
    await writeFile(file, metadataBytes({ ...raw, schemas: [{ ...schema, fields }] }));
    const sink = await open();
    const page = Page.ofRecords([
      { id: 2, v: 'b', more: 1 },
      { id: 3, v: null },
      'no object',
      { id: 'x', v: 'y' },
    ]);
    const result = await sink.write(page, { partial: true });
    expect(result.written).toBe(1);
    expect([...(result.unknownFields ?? [])]).toEqual([['more', 1]]);
    expect(result.rejected.map(({ index }) => index)).toEqual([1, 2, 3]);
    expect(result.rejected[0]?.error.message).toContain('does not allow null in the column "v"');
    await sink.flush();
    await sink.close();
    expect(await ids()).toEqual([1, 2]);
  });
});

test('a table is made with its partitions, and other partitions are refused later', async () => {
  const spec: JsonObject[] = [{ source: 'id', transform: 'Bucket[4]' }, { source: 'v' }];
  await write(
    [
      { id: 1, v: 'a/b' },
      { id: 2, v: null },
    ],
    { partition_spec: spec },
  );
  const [made] = (await metadata())['partition-specs'] as JsonObject[];
  expect(made?.['fields']).toEqual([
    { 'source-id': 1, 'field-id': 1000, name: 'id_bucket', transform: 'bucket[4]' },
    { 'source-id': 2, 'field-id': 1001, name: 'v', transform: 'identity' },
  ]);
  await write([{ id: 3, v: 'c' }], { partition_spec: spec });
  await expect(write([{ id: 4, v: 'd' }], { partition_spec: [{ source: 'v' }] })).rejects.toThrow(
    'is partitioned by id bucket[4], v identity',
  );
  await rm(table(), { recursive: true });
  await expect(
    write([{ id: 1, v: 'a' }], { partition_spec: [{ source: 'nothing' }] }),
  ).rejects.toThrow('`partition_spec` names "nothing", which no record has');
  await expect(
    write([{ id: 1, v: 'a' }], { partition_spec: [{ source: 'v', transform: 'day' }] }),
  ).rejects.toThrow('a column of type string cannot be partitioned by `day`');
});

test('settings that say too much, too little or something wrong are told', () => {
  const catalog = catalogs['file']?.() ?? {};
  const faults = (more: JsonObject): string[] => {
    const checked = check(icebergSink.config, { catalog, namespace: ['a'], table: 't', ...more });
    return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
  };
  expect(faults({})).toEqual([]);
  expect(faults({ namespace: 'a.b', create_if_missing: false })).toEqual([]);
  expect(faults({ catalog: { type: 'hadoop', config: { warehouse: 'x' } } })).toEqual([]);
  expect(faults({ namespace: [] })).toHaveLength(1);
  expect(faults({ write_mode: 'upsert' })).toHaveLength(1);
  expect(faults({ partition_spec: [{ source: 'a', transform: 'bucket' }] })).toHaveLength(1);
  expect(faults({ snapshot_properties: { operation: 'x' } })).toEqual([
    'snapshot_properties.operation: `operation` is not for the summary of a snapshot',
  ]);
  expect(faults({ snapshot_properties: { 'commit.retry.num-retries': 'often' } })).toHaveLength(1);
  expect(faults({ catalog: { type: 'hms', warehouse: 's3://x' } })).toEqual([
    'catalog.type: a catalog of type `hms` is not reached directly',
  ]);
  expect(faults({ catalog: { type: 'glue', warehouse: 's3://x' } })).toEqual([]);
  const refused: JsonObject[] = [
    { type: 'rest' },
    { type: 'rest', uri: 'sqlite:///x' },
    { type: 'rest', uri: 'http://x', credential: 'secret' },
    {
      type: 'rest',
      uri: 'http://x',
      credential: 'a:b',
      properties: { 'rest.sigv4-enabled': 'true' },
    },
    { type: 'rest', uri: 'http://x', properties: { 'rest.sigv4-enabled': 'perhaps' } },
    { type: 'glue' },
    { type: 'glue', warehouse: '123456789012' },
    { type: 'glue', warehouse: 's3://x', uri: 'glue.eu-north-1.amazonaws.com' },
    { type: 'glue', warehouse: 's3://x', credential: 'a:b' },
    { type: 'glue', warehouse: 's3://x', properties: { 'glue.access-key-id': 'x' } },
    { type: 'sql', uri: 'sqlite:///x' },
    { type: 'sql', uri: 'mysql://x/y', warehouse: 'x' },
    { type: 'sql', uri: 'sqlite:///x', warehouse: 'abfss://x/y' },
    { type: 'file', warehouse: 'x', uri: 'y' },
    { type: 'file', warehouse: 'x', credential: 'a:b' },
    { type: 'file', warehouse: 'x', properties: { 's3.acess-key-id': 'x' } },
    { type: 'file', warehouse: 'x', properties: { 's3.access-key-id': 'x' } },
    { type: 'file', warehouse: 'x', properties: { 's3.path-style-access': 'perhaps' } },
  ];
  for (const one of refused) expect([one, faults({ catalog: one }).length]).toEqual([one, 1]);
  for (const uri of ['jdbc:sqlite:/x.db', 'sqlite:////x.db', 'postgresql+psycopg2://u:p@h/d'])
    expect(faults({ catalog: { type: 'sql', uri, warehouse: 's3a://x/y' } })).toEqual([]);
});

test('properties that catalogs of other programs have are taken, and told to change nothing', () => {
  const properties = { 'py-io-impl': 'x', 'rest.signing-name': 's', 's3.region': 'eu-north-1' };
  const catalog = { type: 'rest', uri: 'http://x', properties };
  const checked = check(icebergSink.config, { catalog, namespace: ['ns'], table: 't' });
  assert(checked.ok);
  expect(icebergSink.doubts?.(checked.value).map(({ code, path }) => [code, path])).toEqual([
    ['without_effect', 'catalog.properties.py-io-impl'],
    ['without_effect', 'catalog.properties["rest.signing-name"]'],
  ]);
});

test('a token of requests that are signed is told to change nothing', () => {
  const properties = { token: 'x', 'rest.sigv4-enabled': 'true', 'rest.signing-name': 'glue' };
  const catalog = { type: 'rest', uri: 'http://x', properties };
  const checked = check(icebergSink.config, { catalog, namespace: ['ns'], table: 't' });
  assert(checked.ok);
  expect(icebergSink.doubts?.(checked.value).map(({ path }) => path)).toEqual([
    'catalog.properties.token',
  ]);
});
