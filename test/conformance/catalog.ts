/** The contract of a catalog store, as a suite every implementation is held to. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  KEPT_POINTS,
  KEPT_VERSIONS,
  TOLD_POINTS,
  type CatalogStore,
  type DatasetGain,
  type PointGain,
} from '../../src/history/catalog.ts';
import type { LineageEdge, SchemaVersion } from '../../src/wire/catalog.ts';

export interface CatalogHarness {
  /** An empty catalog. */
  readonly open: () => Promise<{
    readonly store: CatalogStore;
    readonly close: () => Promise<void>;
  }>;
}

const at = (second: number): string => new Date(Date.UTC(2026, 7, 1, 0, 0, second)).toISOString();

export function aGain(id: string, over: Partial<DatasetGain> = {}): DatasetGain {
  return {
    id,
    uri: `file:///${id}.csv`,
    kind: 'csv',
    roles: ['source'],
    pipeline: 'orders',
    first_seen: at(10),
    last_seen: at(10),
    last_run_id: 'r1',
    last_records: 5,
    records: 5,
    runs: 1,
    ...over,
  };
}

function anEdge(src: string, dst: string, over: Partial<LineageEdge> = {}): LineageEdge {
  const ends = {
    src_id: src,
    dst_id: dst,
    src_uri: `file:///${src}.csv`,
    dst_uri: `file:///${dst}.csv`,
  };
  const seen = {
    first_seen: at(10),
    last_seen: at(10),
    last_run_id: 'r1',
    runs: 1,
    last_records: 5,
  };
  return { ...ends, pipeline: 'orders', row: 'row-0', ...seen, ...over };
}

function aPoint(id: string, over: Partial<PointGain> = {}): PointGain {
  return {
    dataset_id: id,
    recorded_at: at(10),
    run_id: 'r1',
    records: 5,
    role: 'sink',
    pipeline: 'orders',
    row: 'row-0',
    ...over,
  };
}

function aVersion(id: string, version: number, over: Partial<SchemaVersion> = {}): SchemaVersion {
  const schema = { type: 'object', properties: { id: { type: 'integer' } } };
  return {
    dataset_id: id,
    version,
    recorded_at: at(10),
    run_id: 'r1',
    schema,
    schema_hash: `h${version}`,
    ...over,
  };
}

const none = { datasets: [], edges: [], points: [] };

export function describeCatalog(name: string, harness: CatalogHarness): void {
  describe(`the ${name} catalog`, () => {
    const closers: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const close of closers.splice(0)) await close();
    });

    const open = async (): Promise<CatalogStore> => {
      const { store, close } = await harness.open();
      closers.push(close);
      return store;
    };

    it('knows nothing at first', async () => {
      const store = await open();
      expect(await store.listDatasets({ limit: 10 })).toEqual({ datasets: [], more: false });
      expect(await store.getDataset('a')).toBeUndefined();
      expect(await store.listEdges()).toEqual([]);
      expect(await store.listEdges(['a'])).toEqual([]);
      expect(await store.listMovements({ limit: 10 })).toEqual([]);
    });

    it('adds up what runs moved, and lets the latest run speak for the last one, in whatever order they are told', async () => {
      const store = await open();
      const later = aGain('a', {
        roles: ['sink'],
        last_seen: at(30),
        first_seen: at(30),
        last_run_id: 'r3',
        last_records: 1,
        records: 1,
      });
      await store.addMovements({ ...none, datasets: [later] });
      await store.addMovements({
        ...none,
        datasets: [
          aGain('a', { kind: 'old', pipeline: 'old', last_records: 9, records: 9, runs: 2 }),
        ],
      });
      expect((await store.listDatasets({ limit: 10 })).datasets).toEqual([
        {
          id: 'a',
          uri: 'file:///a.csv',
          kind: 'csv',
          roles: ['source', 'sink'],
          pipeline: 'orders',
          first_seen: at(10),
          last_seen: at(30),
          last_success: at(30),
          last_run_id: 'r3',
          last_records: 1,
          total_records: 10,
          runs: 3,
          schema_versions: 0,
        },
      ]);
    });

    it('lists what was seen last first, page by page', async () => {
      const store = await open();
      await store.addMovements({
        ...none,
        datasets: [
          aGain('a'),
          aGain('b'),
          aGain('c', { last_seen: at(20) }),
          aGain('d', { last_seen: at(5) }),
        ],
      });
      const first = await store.listDatasets({ limit: 2 });
      expect(first).toMatchObject({ datasets: [{ id: 'c' }, { id: 'b' }], more: true });
      const rest = await store.listDatasets({ limit: 2, cursor: 'b' });
      expect(rest).toMatchObject({ datasets: [{ id: 'a' }, { id: 'd' }], more: false });
      expect((await store.listDatasets({ limit: 10, cursor: 'gone' })).datasets).toHaveLength(4);
    });

    it('narrows by kind, and by a part of the address in any case', async () => {
      const store = await open();
      await store.addMovements({
        ...none,
        datasets: [
          aGain('a', { uri: 'file:///Übung_1%.csv' }),
          aGain('b', { uri: 'file:///x1yz.csv' }),
          aGain('c', { uri: 'pg://h/Übung', kind: 'postgres' }),
        ],
      });
      const found = async (query: { kind?: string; q?: string }): Promise<string[]> =>
        (await store.listDatasets({ limit: 10, ...query })).datasets.map(({ id }) => id);
      expect(await found({ kind: 'csv' })).toEqual(['b', 'a']);
      expect(await found({ q: 'üBUNG' })).toEqual(['c', 'a']);
      expect(await found({ q: 'bung', kind: 'postgres' })).toEqual(['c']);
      expect(await found({ q: '_1%' })).toEqual(['a']);
      expect(await found({ q: 'nothing' })).toEqual([]);
    });

    it('keeps the timeline of a schema, each version once', async () => {
      const store = await open();
      expect(await store.addSchemas([])).toEqual([]);
      expect(await store.addSchemas([aVersion('a', 1)])).toEqual([false]);
      await store.addMovements({ ...none, datasets: [aGain('a'), aGain('b')] });
      const diff = {
        added: [{ column: 'n', from: null, to: 'string' }],
        widened: [],
        changed: [],
        removed: [],
      };
      expect(
        await store.addSchemas([aVersion('b', 1), aVersion('c', 1), aVersion('a', 1)]),
      ).toEqual([true, false, true]);
      expect(
        await store.addSchemas([aVersion('b', 2), aVersion('a', 1, { schema_hash: 'other' })]),
      ).toEqual([true, false]);
      expect(await store.addSchemas([aVersion('a', 3)])).toEqual([false]);
      expect(await store.addSchemas([aVersion('a', 2, { diff })])).toEqual([true]);
      const detail = await store.getDataset('a');
      expect(detail).toMatchObject({
        schema_versions: 2,
        current_schema_hash: 'h2',
        current_schema: aVersion('a', 2).schema,
      });
      expect(detail?.schema_timeline).toEqual([aVersion('a', 1), aVersion('a', 2, { diff })]);
      expect((await store.getDataset('b'))?.schema_timeline).toEqual([
        aVersion('b', 1),
        aVersion('b', 2),
      ]);
    });

    it('keeps the newest versions of a schema', async () => {
      const store = await open();
      await store.addMovements({ ...none, datasets: [aGain('a')] });
      await store.addSchemas(
        Array.from({ length: KEPT_VERSIONS + 5 }, (_, index) => aVersion('a', index + 1)),
      );
      await store.addSchemas([aVersion('a', KEPT_VERSIONS + 6)]);
      const detail = await store.getDataset('a');
      expect([
        detail?.schema_versions,
        detail?.schema_timeline.map(({ version }) => version),
      ]).toEqual([
        KEPT_VERSIONS + 6,
        Array.from({ length: KEPT_VERSIONS }, (_, index) => index + 7),
      ]);
    });

    it('tells how far timelines reach, of many data sets at once', async () => {
      const store = await open();
      const ids = Array.from({ length: 1200 }, (_, index) => `d${index}`);
      await store.addMovements({ ...none, datasets: ids.map((id) => aGain(id)) });
      await store.addSchemas([aVersion('d7', 1), aVersion('d1100', 1)]);
      await store.addSchemas([aVersion('d1100', 2)]);
      expect(await store.currentSchemas([])).toEqual(new Map());
      const found = await store.currentSchemas([...ids, 'nobody']);
      expect(found.size).toBe(1200);
      const { schema } = aVersion('a', 1);
      expect(found.get('d0')).toEqual({ version: 0, schema: undefined, hash: undefined });
      expect(found.get('d7')).toEqual({ version: 1, schema, hash: 'h1' });
      expect(found.get('d1100')).toEqual({ version: 2, schema, hash: 'h2' });
    });

    it('keeps the newest volume points, and tells the newest of them', async () => {
      const store = await open();
      const points = Array.from({ length: KEPT_POINTS + 20 }, (_, index) =>
        aPoint('a', { recorded_at: at(index), records: index }),
      );
      await store.addMovements({ ...none, datasets: [aGain('a')], points });
      const stats = (await store.getDataset('a'))?.stats ?? [];
      expect(stats).toHaveLength(TOLD_POINTS);
      expect(stats[0]).toEqual({
        recorded_at: at(KEPT_POINTS + 19),
        run_id: 'r1',
        records: KEPT_POINTS + 19,
      });
      expect(await store.listMovements({ limit: 1000 })).toHaveLength(KEPT_POINTS);
    });

    it('lists movements into sinks, newest first, of all rows or of one', async () => {
      const store = await open();
      await store.addMovements({
        datasets: [aGain('a'), aGain('b')],
        edges: [],
        points: [
          aPoint('a', { role: 'source' }),
          aPoint('b'),
          aPoint('b', { row: 'eu', recorded_at: at(11), run_id: 'r2' }),
        ],
      });
      const moved = { dataset_id: 'b', uri: 'file:///b.csv', records: 5, pipeline: 'orders' };
      const [eu, other] = [
        { ...moved, row: 'eu', recorded_at: at(11), run_id: 'r2' },
        { ...moved, row: 'row-0', recorded_at: at(10), run_id: 'r1' },
      ];
      expect(await store.listMovements({ limit: 10 })).toEqual([eu, other]);
      expect(await store.listMovements({ limit: 1 })).toEqual([eu]);
      expect(await store.listMovements({ limit: 10, row: 'row-0' })).toEqual([other]);
    });

    it('keeps one edge for a row, with the columns of its latest run', async () => {
      const store = await open();
      const columns = { fields: { out: ['in'] } };
      await store.addMovements({
        ...none,
        datasets: [aGain('a'), aGain('b'), aGain('c')],
        edges: [anEdge('a', 'b')],
      });
      await store.addMovements({
        ...none,
        edges: [
          anEdge('a', 'b', {
            last_seen: at(20),
            last_run_id: 'r2',
            runs: 2,
            last_records: 7,
            column_lineage: columns,
          }),
        ],
      });
      await store.addMovements({
        ...none,
        edges: [anEdge('b', 'c', { row: 'eu', last_seen: at(15) })],
      });
      const [first, second] = [
        anEdge('a', 'b', {
          last_seen: at(20),
          last_run_id: 'r2',
          runs: 3,
          last_records: 7,
          column_lineage: columns,
        }),
        anEdge('b', 'c', { row: 'eu', last_seen: at(15) }),
      ];
      expect(await store.listEdges()).toEqual([first, second]);
      expect(await store.listEdges(['a'])).toEqual([first]);
      expect(await store.listEdges(['c', 'gone'])).toEqual([second]);
      expect(await store.getDataset('b')).toMatchObject({
        upstream: [first],
        downstream: [second],
      });
    });

    it('takes what several add at the same time', async () => {
      const store = await open();
      const gain = { ...none, datasets: [aGain('b'), aGain('a')], edges: [anEdge('a', 'b')] };
      await Promise.all(Array.from({ length: 8 }, () => store.addMovements(gain)));
      expect((await store.listDatasets({ limit: 2 })).datasets.map(({ runs }) => runs)).toEqual([
        8, 8,
      ]);
      const added = await Promise.all(
        Array.from({ length: 4 }, () => store.addSchemas([aVersion('a', 1)])),
      );
      expect(added.flat().filter(Boolean)).toHaveLength(1);
    });
  });
}
