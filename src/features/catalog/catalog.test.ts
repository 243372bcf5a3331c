/** What the catalog remembers of runs. */
import { describe, expect, it, vi } from 'vitest';
import { datasetId } from '../../engine/observe/canonical-uri.ts';
import type { RunObserver } from '../../engine/observe/observer.ts';
import type { CatalogStore } from '../../history/catalog.ts';
import { HistoryError } from '../../history/history.ts';
import { MemoryCatalog } from '../../history/memory/memory-catalog.ts';
import { ConnectorError, StopReason } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { Movement } from '../../wire/catalog.ts';
import { renameField } from '../../transforms/rename/rename-field.ts';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { runGraph } from '../../../test/fakes/graph.ts';
import { fakeSink, fakeSource, part, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { createCatalog, type Catalog } from './catalog.ts';
import { MovementObserver } from './movements.ts';
import { compareSchemas, inferSchema } from './schemas.ts';

describe('a schema', () => {
  const field = (name: string, types: ('integer' | 'number' | 'string')[], nulls = false) => ({
    name,
    types,
    nulls,
  });

  it('tells each column with its types, nullable where a record lacked it', () => {
    expect(
      inferSchema([
        field('id', ['integer']),
        field('n', ['string', 'number'], true),
        field('z', [], true),
      ]),
    ).toEqual({
      type: 'object',
      properties: {
        id: { type: 'integer' },
        n: { type: ['number', 'string', 'null'] },
        z: { type: 'null' },
      },
    });
    expect(inferSchema([])).toBeUndefined();
  });

  it('is compared as drift is: new, wider, different and gone', () => {
    const before = inferSchema([
      field('a', ['integer']),
      field('b', ['integer']),
      field('c', ['string']),
      field('d', ['string']),
    ]);
    const after = inferSchema([
      field('a', ['number']),
      field('b', ['string']),
      field('c', ['string'], true),
      field('e', ['string']),
    ]);
    if (before === undefined || after === undefined) throw new Error('there are columns');
    expect(compareSchemas(before, after)).toEqual({
      added: [{ column: 'e', from: null, to: 'string' }],
      widened: [
        { column: 'a', from: 'integer', to: 'number' },
        { column: 'c', from: 'string', to: 'string|null' },
      ],
      changed: [{ column: 'b', from: 'integer', to: 'string' }],
      removed: ['d'],
    });
    expect(compareSchemas(after, before)).toMatchObject({
      changed: [{ column: 'a' }, { column: 'b' }, { column: 'c' }],
    });
  });
});

/** Runs rows and hears what they moved. */
async function movedBy(
  rows: readonly PlannedRow[],
  overrides: Parameters<typeof run>[1] = {},
): Promise<Movement[]> {
  const heard: Movement[] = [];
  const env = testEnv();
  const observer = new MovementObserver({
    env,
    sampleRecords: 10,
    deliver: (movements) => void heard.push(...movements),
  });
  await run(planOf([...rows]), { env, observers: [observer], ...overrides });
  return heard;
}

const oneRow = (over: Partial<PlannedRow> = {}, records: JsonValue[] = [{ id: 1 }]): PlannedRow =>
  plannedRow(fakeSource([{ records }]), fakeSink().definition, over);

describe('a movement', () => {
  it('is told of a row that succeeded: its data sets, their schemas, and where columns come from', async () => {
    const [movement] = await movedBy([
      oneRow({ transforms: [part(renameField, { fields: { id: 'key' } })] }),
    ]);
    const schema = (column: string) => ({
      type: 'object',
      properties: { [column]: { type: 'integer' } },
    });
    expect(movement).toMatchObject({ pipeline: 'test', row: 'row-0', run_id: 'run-1' });
    expect(movement?.datasets).toEqual([
      { uri: 'fake://source', kind: 'fake', role: 'source', records: 1, schema: schema('id') },
      { uri: 'fake://sink', kind: 'fake', role: 'sink', records: 1, schema: schema('key') },
    ]);
    expect(movement?.edges).toEqual([
      { from: 'fake://source', to: 'fake://sink', records: 1, columns: { key: ['id'] } },
    ]);
  });

  it('has no schemas where none are asked for, although another observer has records looked at', async () => {
    const heard: Movement[] = [];
    const observer = new MovementObserver({
      env: testEnv(),
      sampleRecords: 0,
      deliver: (movements) => void heard.push(...movements),
    });
    await run(planOf([oneRow()]), {
      env: testEnv(),
      observers: [observer, { name: 'curious', sampleRecords: 10 }],
    });
    expect(heard).toMatchObject([{ datasets: [{ records: 1 }, { records: 1 }] }]);
    expect(JSON.stringify(heard)).not.toMatch(/schema|columns/);
  });

  it('is not told of a dry run, a limited run, or a row that failed', async () => {
    expect(await movedBy([oneRow()], { dryRun: true })).toEqual([]);
    expect(await movedBy([oneRow()], { limit: 5 })).toEqual([]);
    const failing = plannedRow(
      fakeSource([{ records: [{ id: 1 }] }], { failAfter: new ConnectorError('data', 'no') }),
      fakeSink().definition,
    );
    const told = await movedBy([{ ...failing, id: 'bad' }, oneRow({ id: 'good' })]);
    expect(told.map(({ row }) => row)).toEqual(['good']);
  });

  it('is not told of a row of which some chunks never ran, because another row had failed', async () => {
    const heard: Movement[] = [];
    const observer = new MovementObserver({
      env: testEnv(),
      sampleRecords: 0,
      deliver: (movements) => void heard.push(...movements),
    });
    const row = oneRow();
    const watched: RunObserver = {
      name: 'chunks',
      runStarted: (started) => observer.runStarted(started),
      rowEnded: (ended, outcome, shapes) =>
        observer.rowEnded(ended, { ...outcome, row_id: 'row-0::partition::0' }, shapes),
      runEnded: async (outcome, read) => {
        const [done] = outcome.invocations;
        if (done === undefined) throw new Error('the row ran');
        const chunk = (index: number) => `row-0::partition::${index}`;
        const chunks = [
          { ...done, row_id: chunk(0) },
          { ...done, row_id: chunk(1), status: 'skipped' as const },
        ];
        await observer.runEnded({ ...outcome, status: 'failed', invocations: chunks }, read);
        await observer.runEnded(
          { ...outcome, status: 'failed', invocations: chunks.slice(0, 1) },
          read,
        );
      },
    };
    await run(planOf([row]), { env: testEnv(), observers: [watched] });
    expect(heard.map(({ row: id }) => id)).toEqual(['row-0']);
  });

  it('is not told of a cancelled run, not even of rows that were done', async () => {
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new StopReason('cancel', 'the run was cancelled'));
    const pages = [{ records: [{ id: 1 }] }, { records: [{ id: 2 }] }];
    expect(
      await movedBy([plannedRow(fakeSource(pages), fakeSink().definition)], {
        signal: stop.signal,
        onProgress,
      }),
    ).toEqual([]);
  });

  it('is not told of rows that run for the records of others', async () => {
    const child = oneRow({
      id: 'kid',
      parent: { row: 'top', key: 'id', fields: [] },
      dependsOn: ['top'],
    });
    expect((await movedBy([oneRow({ id: 'top' }), child])).map(({ row }) => row)).toEqual(['top']);
  });

  it('of a graph tells every source once, and an edge for each pair that is connected', async () => {
    const heard: Movement[] = [];
    const env = testEnv();
    const observer = new MovementObserver({
      env,
      sampleRecords: 10,
      deliver: (movements) => void heard.push(...movements),
    });
    const source = (name: string, records: JsonValue[]) => ({
      ...fakeSource([{ records }]),
      datasetUri: () => `fake://${name}`,
    });
    const sink = (name: string) => ({
      ...fakeSink().definition,
      datasetUri: () => `fake://${name}`,
    });
    await runGraph(
      {
        nodes: {
          a: { kind: 'source', type: 'a' },
          b: { kind: 'source', type: 'b' },
          t: { kind: 'tee' },
          m: { kind: 'merge' },
          both: { kind: 'sink', type: 'both' },
          first: { kind: 'sink', type: 'first' },
        },
        edges: [
          ['a', 't'],
          ['t', 'm'],
          ['b', 'm'],
          ['m', 'both'],
          ['t', 'first'],
        ],
      },
      {
        sources: { a: source('a', [{ x: 1 }, { x: 2 }]), b: source('b', [{ y: 1 }]) },
        sinks: { both: sink('both'), first: sink('first') },
      },
      { env, observers: [observer] },
    );
    const datasets = heard.flatMap((movement) =>
      movement.datasets.map(({ uri, records }) => `${uri} ${records}`),
    );
    expect(datasets.sort()).toEqual([
      'fake://a 2',
      'fake://b 1',
      'fake://both 3',
      'fake://first 2',
    ]);
    const edges = heard.flatMap((movement) =>
      movement.edges.map(({ from, to, records }) => `${from} ${to} ${records}`),
    );
    expect(edges.sort()).toEqual([
      'fake://a fake://both 2',
      'fake://a fake://first 2',
      'fake://b fake://both 1',
    ]);
  });
});

function aMovement(
  over: Partial<Movement> & {
    readonly columns?: readonly string[];
    readonly path?: readonly [string, string];
  } = {},
): Movement {
  const {
    columns = ['id'],
    path: [from, to] = ['file:///a.csv', 'file:///b.jsonl'],
    ...rest
  } = over;
  const schema = {
    type: 'object' as const,
    properties: Object.fromEntries(columns.map((name) => [name, { type: 'string' }])),
  };
  return {
    pipeline: 'orders',
    row: 'row-0',
    run_id: 'r1',
    recorded_at: '2026-08-01T00:00:00.000Z',
    datasets: [
      { uri: from, kind: 'csv', role: 'source', records: 3, schema },
      { uri: to, kind: 'jsonl', role: 'sink', records: 3, schema },
    ],
    edges: [{ from, to, records: 3, columns: { id: ['id'] } }],
    ...rest,
  };
}

const catalogOf = (store: CatalogStore = new MemoryCatalog()): Catalog =>
  createCatalog(store, testEnv());

describe('the catalog', () => {
  it('shows what was recorded as soon as it is asked', async () => {
    const catalog = catalogOf();
    catalog.record([aMovement()]);
    const { datasets } = await catalog.list({ limit: 10 });
    expect(
      datasets.map(({ uri, roles, runs, schema_versions }) => [uri, roles, runs, schema_versions]),
    ).toEqual(
      expect.arrayContaining([
        ['file:///a.csv', ['source'], 1, 1],
        ['file:///b.jsonl', ['sink'], 1, 1],
      ]),
    );
  });

  it('has a new version of a schema only when it is another one, with what is different', async () => {
    const catalog = catalogOf();
    const at = (second: number): string =>
      new Date(Date.UTC(2026, 7, 1, 0, 0, second)).toISOString();
    catalog.record([
      aMovement({ recorded_at: at(1) }),
      aMovement({ recorded_at: at(2), run_id: 'r2' }),
    ]);
    await catalog.settled();
    catalog.record([
      aMovement({ recorded_at: at(3), run_id: 'r3', columns: ['id', 'mail'] }),
      aMovement({ recorded_at: at(4), run_id: 'r4', columns: ['id', 'mail'] }),
    ]);
    const detail = await catalog.get(datasetId('file:///b.jsonl'));
    expect(detail).toMatchObject({
      schema_versions: 2,
      runs: 4,
      total_records: 12,
      last_run_id: 'r4',
    });
    expect(
      detail?.schema_timeline.map(({ version, run_id, diff }) => [version, run_id, diff]),
    ).toEqual([
      [1, 'r1', undefined],
      [
        2,
        'r3',
        {
          added: [{ column: 'mail', from: null, to: 'string' }],
          widened: [],
          changed: [],
          removed: [],
        },
      ],
    ]);
    expect(detail?.stats.map(({ run_id }) => run_id)).toEqual(['r4', 'r3', 'r2', 'r1']);
    expect(detail?.upstream).toMatchObject([
      { runs: 4, column_lineage: { fields: { id: ['id'] } } },
    ]);
  });

  it('goes on where another recorder of the same store stopped', async () => {
    const store = new MemoryCatalog();
    for (const columns of [['id'], ['id'], ['id', 'n']]) {
      const catalog = catalogOf(store);
      catalog.record([aMovement({ columns })]);
      await catalog.settled();
    }
    expect(await store.getDataset(datasetId('file:///a.csv'))).toMatchObject({
      schema_versions: 2,
      runs: 3,
    });
  });

  it('follows a schema that changes back and forth', async () => {
    const catalog = catalogOf();
    catalog.record(
      [['id'], ['id', 'n'], ['id', 'n'], ['id']].map((columns) => aMovement({ columns })),
    );
    const detail = await catalog.get(datasetId('file:///b.jsonl'));
    expect(detail?.schema_timeline.map(({ diff }) => [diff?.added.length, diff?.removed])).toEqual([
      [undefined, undefined],
      [1, []],
      [0, ['n']],
    ]);
  });

  it('continues the timeline of another instance that was faster', async () => {
    const store = new MemoryCatalog();
    const addSchemas = store.addSchemas.bind(store);
    let isFirst = true;
    vi.spyOn(store, 'addSchemas').mockImplementation(async (versions) => {
      const others = isFirst
        ? versions.map((version) => ({
            ...version,
            schema: { type: 'object', properties: {} },
            schema_hash: 'theirs',
          }))
        : [];
      isFirst = false;
      await addSchemas(others);
      return addSchemas(versions);
    });
    const catalog = catalogOf(store);
    catalog.record([aMovement()]);
    const detail = await catalog.get(datasetId('file:///b.jsonl'));
    expect(
      detail?.schema_timeline.map(({ version, schema_hash, diff }) => [
        version,
        schema_hash === 'theirs',
        diff?.added.length,
      ]),
    ).toEqual([
      [1, true, undefined],
      [2, false, 1],
    ]);
  });

  it('asks its store as often for many data sets as for one', async () => {
    const store = new MemoryCatalog();
    const [asked, added] = [vi.spyOn(store, 'currentSchemas'), vi.spyOn(store, 'addSchemas')];
    const catalog = catalogOf(store);
    catalog.record(
      Array.from({ length: 50 }, (_, index) =>
        aMovement({ path: ['file:///in.csv', `file:///out-${index}.jsonl`] }),
      ),
    );
    expect(
      (await catalog.list({ limit: 100 })).datasets.every(
        ({ schema_versions }) => schema_versions === 1,
      ),
    ).toBe(true);
    expect([asked.mock.calls.length, added.mock.calls.length]).toEqual([1, 1]);
  });

  it('walks from a data set in both directions, as far as it is asked', async () => {
    const catalog = catalogOf();
    const chain = ['a', 'b', 'c', 'd'].map((name) => `file:///${name}`);
    const steps = [0, 1, 2].map((index) =>
      aMovement({ path: [chain[index] ?? '', chain[index + 1] ?? ''], row: `r${index}` }),
    );
    catalog.record(steps);
    const rows = async (query: Parameters<Catalog['lineage']>[0]): Promise<string[]> =>
      (await catalog.lineage(query)).map(({ row }) => row).sort();
    expect(await rows({ depth: 5 })).toEqual(['r0', 'r1', 'r2']);
    expect(await rows({ root: datasetId(chain[1] ?? ''), depth: 1 })).toEqual(['r0', 'r1']);
    expect(await rows({ root: datasetId(chain[0] ?? ''), depth: 2 })).toEqual(['r0', 'r1']);
    expect(await rows({ root: datasetId(chain[0] ?? ''), depth: 32 })).toEqual(['r0', 'r1', 'r2']);
    expect(await rows({ root: 'nobody', depth: 5 })).toEqual([]);
  });

  it('that cannot be written to is told of in the log, and takes the next movement', async () => {
    const store = new MemoryCatalog();
    const env = testEnv();
    let broken = true;
    const failing: CatalogStore = Object.assign(Object.create(store) as CatalogStore, {
      addMovements: (gain: Parameters<CatalogStore['addMovements']>[0]) =>
        broken
          ? Promise.reject(new HistoryError('the disk is full'))
          : MemoryCatalog.prototype.addMovements.call(store, gain),
      listDatasets: (query: Parameters<CatalogStore['listDatasets']>[0]) =>
        store.listDatasets(query),
      getDataset: (id: string) => store.getDataset(id),
      currentSchemas: (ids: readonly string[]) => store.currentSchemas(ids),
      addSchemas: (versions: Parameters<CatalogStore['addSchemas']>[0]) =>
        store.addSchemas(versions),
    });
    const catalog = createCatalog(failing, env);
    catalog.record([aMovement()]);
    await catalog.settled();
    expect(env.lines.some(({ line }) => line.includes('the disk is full'))).toBe(true);
    broken = false;
    catalog.record([aMovement()]);
    expect((await catalog.list({ limit: 10 })).datasets).toHaveLength(2);
  });
});
