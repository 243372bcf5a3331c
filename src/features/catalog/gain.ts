/** Many movements as one change of the catalog. Pure. */
import {
  KEPT_POINTS,
  type CatalogGain,
  type DatasetGain,
  type EdgeGain,
  type PointGain,
} from '../../history/catalog.ts';
import type { MovedDataset, Movement } from '../../wire/catalog.ts';

type IdOf = (uri: string) => string;

export function gainOf(movements: readonly Movement[], idOf: IdOf): CatalogGain {
  const datasets = new Map<string, DatasetGain>();
  const edges = new Map<string, EdgeGain>();
  const points = new Map<string, PointGain[]>();
  for (const movement of movements) {
    for (const [uri, moved] of Map.groupBy(movement.datasets, (one) => one.uri)) {
      const id = idOf(uri);
      datasets.set(id, addDataset(datasets.get(id), { id, moved, movement }));
      const own = points.get(id) ?? [];
      points.set(id, own);
      for (const { role, records } of moved) own.push(pointOf(id, { role, records }, movement));
    }
    for (const edge of movement.edges) {
      const [src, dst] = [idOf(edge.from), idOf(edge.to)];
      const key = JSON.stringify([src, dst, movement.pipeline, movement.row]);
      edges.set(key, addEdge(edges.get(key), { src, dst, edge, movement }));
    }
  }
  // Older ones would be thrown away at once.
  const newest = [...points.values()].flatMap((own) => own.slice(-KEPT_POINTS));
  return { datasets: [...datasets.values()], edges: [...edges.values()], points: newest };
}

function addDataset(
  before: DatasetGain | undefined,
  {
    id,
    moved,
    movement,
  }: { readonly id: string; readonly moved: readonly MovedDataset[]; readonly movement: Movement },
): DatasetGain {
  const { pipeline, run_id, recorded_at } = movement;
  // Where a run reads and writes the same data set, what it wrote is what the run moved.
  const main = moved.find(({ role }) => role === 'sink') ?? moved[0];
  const roles = new Set([...(before?.roles ?? []), ...moved.map(({ role }) => role)]);
  const records = main?.records ?? 0;
  return {
    id,
    uri: main?.uri ?? '',
    kind: main?.kind ?? '',
    roles: [...roles].sort((a, b) => (a === b ? 0 : a === 'source' ? -1 : 1)),
    pipeline,
    first_seen: before?.first_seen ?? recorded_at,
    last_seen: recorded_at,
    last_run_id: run_id,
    last_records: records,
    records: (before?.records ?? 0) + records,
    runs: (before?.runs ?? 0) + 1,
  };
}

interface AddedEdge {
  readonly src: string;
  readonly dst: string;
  readonly edge: Movement['edges'][number];
  readonly movement: Movement;
}

function addEdge(before: EdgeGain | undefined, { src, dst, edge, movement }: AddedEdge): EdgeGain {
  return {
    src_id: src,
    dst_id: dst,
    src_uri: edge.from,
    dst_uri: edge.to,
    pipeline: movement.pipeline,
    row: movement.row,
    first_seen: before?.first_seen ?? movement.recorded_at,
    last_seen: movement.recorded_at,
    last_run_id: movement.run_id,
    runs: (before?.runs ?? 0) + 1,
    last_records: edge.records,
    ...(edge.columns === undefined ? {} : { column_lineage: { fields: columnsOf(edge.columns) } }),
  };
}

function columnsOf(columns: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(columns).map(([name, from]) => [name, [...from]]));
}

function pointOf(
  id: string,
  { role, records }: Pick<MovedDataset, 'role' | 'records'>,
  movement: Movement,
): PointGain {
  const { recorded_at, run_id, pipeline, row } = movement;
  return { dataset_id: id, recorded_at, run_id, records, role, pipeline, row };
}
