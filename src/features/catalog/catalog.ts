/** The catalog as routes and commands read it. */
import type { RunListener } from '../../runs/service/run-listener.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  CatalogStore,
  DatasetPage,
  DatasetQuery,
  PastMovement,
} from '../../history/catalog.ts';
import type { Env } from '../../lib/env.ts';
import type { DatasetDetail, LineageEdge, Movement } from '../../wire/catalog.ts';
import { CatalogRecorder } from './recorder.ts';

/** What was just recorded is waited for, but not for as long as a lock on the database lasts. */
const RECORDING_WAIT_MS = 2000;

/** Databases take only so many values in one statement. */
const ASKED_AT_ONCE = 500;

export interface LineageQuery {
  /** All edges when absent. */
  readonly root?: string;
  /** Steps from the root, in both directions. */
  readonly depth: number;
}

export interface Catalog {
  /** Returns at once. */
  record(movements: readonly Movement[]): void;
  /** Everything recorded so far is there, or was given up. */
  settled(): Promise<void>;
  /** What is read shows everything that was recorded before. */
  list(query: DatasetQuery): Promise<DatasetPage>;
  get(id: string): Promise<DatasetDetail | undefined>;
  lineage(query: LineageQuery): Promise<readonly LineageEdge[]>;
  past(query: { readonly row?: string; readonly limit: number }): Promise<readonly PastMovement[]>;
}

export function createCatalog(store: CatalogStore, env: Pick<Env, 'log'>): Catalog {
  const recorder = new CatalogRecorder(store, env);
  const after = async <T>(read: () => Promise<T>): Promise<T> => {
    await recordedWithin(recorder, RECORDING_WAIT_MS);
    return read();
  };
  return {
    record: (movements) => recorder.record(movements),
    settled: () => recorder.settled(),
    list: (query) => after(() => store.listDatasets(query)),
    get: (id) => after(() => store.getDataset(id)),
    lineage: (query) => after(() => lineageOf(store, query)),
    past: (query) => after(() => store.listMovements(query)),
  };
}

/** Whoever reads a catalog that cannot be written gets what is there. */
async function recordedWithin(recorder: CatalogRecorder, waitMs: number): Promise<void> {
  const over = new AbortController();
  const waited = sleep(waitMs, undefined, { signal: over.signal }).catch(() => {});
  await Promise.race([recorder.settled(), waited]);
  over.abort();
}

/** Breadth first; an unknown root has no edges. */
async function lineageOf(
  store: CatalogStore,
  { root, depth }: LineageQuery,
): Promise<readonly LineageEdge[]> {
  if (root === undefined) return store.listEdges();
  const edges = new Map<string, LineageEdge>();
  const seen = new Set([root]);
  let frontier = [root];
  for (let step = 0; step < depth && frontier.length > 0; step += 1) {
    const next: string[] = [];
    for (let from = 0; from < frontier.length; from += ASKED_AT_ONCE) {
      for (const edge of await store.listEdges(frontier.slice(from, from + ASKED_AT_ONCE))) {
        edges.set(JSON.stringify([edge.src_id, edge.dst_id, edge.pipeline, edge.row]), edge);
        for (const id of [edge.src_id, edge.dst_id]) {
          if (seen.has(id)) continue;
          seen.add(id);
          next.push(id);
        }
      }
    }
    frontier = next;
  }
  return [...edges.values()].sort((a, b) =>
    a.last_seen === b.last_seen ? 0 : a.last_seen < b.last_seen ? 1 : -1,
  );
}

/** Records what runs moved. */
export function catalogListener(catalog: Pick<Catalog, 'record'>): RunListener {
  return {
    name: 'catalog',
    follow: () => (event) => {
      if (event.kind === 'moved') catalog.record(event.movements);
    },
  };
}
