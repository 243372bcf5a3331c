/**
 * A catalog that ends with the process. Bounded: the data sets that were used least recently make
 * room for new ones.
 */
import type { Dataset, DatasetDetail, LineageEdge, SchemaVersion } from '../../wire/catalog.ts';
import {
  KEPT_POINTS,
  KEPT_VERSIONS,
  TOLD_POINTS,
  type CatalogGain,
  type CatalogStore,
  type CurrentSchema,
  type DatasetGain,
  type DatasetPage,
  type DatasetQuery,
  type EdgeGain,
  type PastMovement,
  type PointGain,
} from '../catalog.ts';

const DATASETS = 10_000;

interface Known {
  readonly dataset: Dataset;
  readonly timeline: readonly SchemaVersion[];
  /** Newest first. */
  readonly points: readonly PointGain[];
}

export class MemoryCatalog implements CatalogStore {
  readonly #known = new Map<string, Known>();
  readonly #edges = new Map<string, LineageEdge>();
  readonly #limit: number;

  constructor(limit = DATASETS) {
    this.#limit = limit;
  }

  async addMovements({ datasets, edges, points }: CatalogGain): Promise<void> {
    for (const gain of datasets) this.#gain(gain);
    for (const edge of edges) {
      const key = keyOf(edge);
      this.#edges.set(key, mergedEdge(this.#edges.get(key), edge));
    }
    for (const [id, added] of Map.groupBy(points, (point) => point.dataset_id)) {
      const known = this.#known.get(id);
      if (known === undefined) continue;
      const newest = [...known.points, ...added]
        .sort((a, b) => compare(b.recorded_at, a.recorded_at))
        .slice(0, KEPT_POINTS);
      this.#known.set(id, { ...known, points: newest });
    }
    while (this.#known.size > this.#limit) this.#forgetOldest();
  }

  async currentSchemas(ids: readonly string[]): Promise<ReadonlyMap<string, CurrentSchema>> {
    const found = ids.flatMap((id) => this.#known.get(id)?.dataset ?? []);
    return new Map(
      found.map(
        ({ id, schema_versions: version, current_schema: schema, current_schema_hash: hash }) => [
          id,
          { version, schema, hash },
        ],
      ),
    );
  }

  async addSchemas(versions: readonly SchemaVersion[]): Promise<readonly boolean[]> {
    return versions.map((version) => this.#addSchema(version));
  }

  async listDatasets({ kind, q, limit, cursor }: DatasetQuery): Promise<DatasetPage> {
    const part = q?.toLowerCase();
    const after = cursor === undefined ? undefined : this.#known.get(cursor)?.dataset;
    const found = [...this.#known.values()]
      .map(({ dataset }) => dataset)
      .filter(
        (dataset) =>
          (kind === undefined || dataset.kind === kind) &&
          (part === undefined || dataset.uri.toLowerCase().includes(part)) &&
          (after === undefined || lastSeenFirst(after, dataset) < 0),
      );
    found.sort(lastSeenFirst);
    return { datasets: found.slice(0, limit), more: found.length > limit };
  }

  async getDataset(id: string): Promise<DatasetDetail | undefined> {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    const edges = await this.listEdges([id]);
    return {
      ...known.dataset,
      schema_timeline: [...known.timeline],
      stats: known.points
        .slice(0, TOLD_POINTS)
        .map(({ recorded_at, run_id, records }) => ({ recorded_at, run_id, records })),
      upstream: edges.filter((edge) => edge.dst_id === id),
      downstream: edges.filter((edge) => edge.src_id === id),
    };
  }

  async listEdges(datasets?: readonly string[]): Promise<readonly LineageEdge[]> {
    const wanted = datasets === undefined ? undefined : new Set(datasets);
    const found = [...this.#edges.values()].filter(
      (edge) => wanted === undefined || wanted.has(edge.src_id) || wanted.has(edge.dst_id),
    );
    return found.sort((a, b) => compare(b.last_seen, a.last_seen) || compare(keyOf(a), keyOf(b)));
  }

  async listMovements({
    row,
    limit,
  }: {
    readonly row?: string;
    readonly limit: number;
  }): Promise<readonly PastMovement[]> {
    const found = [...this.#known.values()].flatMap(({ dataset, points }) =>
      points
        .filter((point) => point.role === 'sink' && (row === undefined || point.row === row))
        .map(({ role: _role, ...point }) => ({ ...point, uri: dataset.uri })),
    );
    return found.sort((a, b) => compare(b.recorded_at, a.recorded_at)).slice(0, limit);
  }

  #addSchema(version: SchemaVersion): boolean {
    const known = this.#known.get(version.dataset_id);
    if (known === undefined || known.dataset.schema_versions !== version.version - 1) return false;
    const current = {
      schema_versions: version.version,
      current_schema: version.schema,
      current_schema_hash: version.schema_hash,
    };
    const dataset = { ...known.dataset, ...current };
    this.#known.set(dataset.id, {
      ...known,
      dataset,
      timeline: [...known.timeline, version].slice(-KEPT_VERSIONS),
    });
    return true;
  }

  #gain(gain: DatasetGain): void {
    const known = this.#known.get(gain.id);
    const { records, runs, ...seen } = gain;
    const fresh: Dataset = {
      ...seen,
      last_success: gain.last_seen,
      total_records: records,
      runs,
      schema_versions: 0,
    };
    if (known === undefined) {
      this.#known.set(gain.id, { dataset: fresh, timeline: [], points: [] });
      return;
    }
    const { dataset } = known;
    const [newest, oldest] =
      gain.last_seen >= dataset.last_seen ? [fresh, dataset] : [dataset, fresh];
    const merged: Dataset = {
      ...dataset,
      kind: newest.kind,
      pipeline: newest.pipeline,
      roles: (['source', 'sink'] as const).filter(
        (role) => newest.roles.includes(role) || oldest.roles.includes(role),
      ),
      first_seen: gain.first_seen < dataset.first_seen ? gain.first_seen : dataset.first_seen,
      last_seen: newest.last_seen,
      last_success: newest.last_seen,
      last_run_id: newest.last_run_id,
      last_records: newest.last_records,
      total_records: dataset.total_records + records,
      runs: dataset.runs + runs,
    };
    this.#known.set(gain.id, { ...known, dataset: merged });
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#known.values()]
      .map(({ dataset }) => dataset)
      .sort((a, b) => lastSeenFirst(b, a));
    if (oldest === undefined) return;
    this.#known.delete(oldest.id);
    for (const [key, edge] of this.#edges)
      if (edge.src_id === oldest.id || edge.dst_id === oldest.id) this.#edges.delete(key);
  }
}

function mergedEdge(known: LineageEdge | undefined, gain: EdgeGain): LineageEdge {
  if (known === undefined) return gain;
  const newest = gain.last_seen >= known.last_seen ? gain : known;
  const first_seen = gain.first_seen < known.first_seen ? gain.first_seen : known.first_seen;
  return { ...newest, first_seen, runs: known.runs + gain.runs };
}

function keyOf({ src_id, dst_id, pipeline, row }: LineageEdge): string {
  return JSON.stringify([src_id, dst_id, pipeline, row]);
}

function lastSeenFirst(a: Dataset, b: Dataset): number {
  return compare(b.last_seen, a.last_seen) || compare(b.id, a.id);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
