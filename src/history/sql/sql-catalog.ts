/** The catalog in SQL tables; SQLite and PostgreSQL share it. */
import { setImmediate as pause } from 'node:timers/promises';
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
import { currentSchemaOf, datasetOf, edgeOf, schemaVersionOf } from './catalog-rows.ts';
import { text, toJson } from './rows.ts';
import { insertInto, type SqlStatement, type SqlStore, type SqlValue } from './sql-store.ts';

const newest = (table: string, columns: readonly string[]): string =>
  columns
    .map(
      (column) =>
        `${column} = CASE WHEN excluded.last_seen >= ${table}.last_seen THEN excluded.${column} ELSE ${table}.${column} END`,
    )
    .join(', ');

const DATASETS = 'svc_catalog_datasets';
const putDataset = insertInto(
  DATASETS,
  {
    id: 'text',
    uri: 'text',
    uri_folded: 'text',
    kind: 'text',
    is_source: 'integer',
    is_sink: 'integer',
    pipeline: 'text',
    first_seen: 'text',
    last_seen: 'text',
    last_run_id: 'text',
    last_records: 'bigint',
    total_records: 'bigint',
    runs: 'bigint',
    schema_versions: 'integer',
  },
  `ON CONFLICT (id) DO UPDATE SET
    is_source = CASE WHEN excluded.is_source = 1 THEN 1 ELSE ${DATASETS}.is_source END,
    is_sink = CASE WHEN excluded.is_sink = 1 THEN 1 ELSE ${DATASETS}.is_sink END,
    first_seen = CASE WHEN excluded.first_seen < ${DATASETS}.first_seen THEN excluded.first_seen ELSE ${DATASETS}.first_seen END,
    total_records = ${DATASETS}.total_records + excluded.total_records,
    runs = ${DATASETS}.runs + excluded.runs,
    ${newest(DATASETS, ['kind', 'pipeline', 'last_run_id', 'last_records', 'last_seen'])}`,
);

const EDGES = 'svc_catalog_edges';
const putEdge = insertInto(
  EDGES,
  {
    src_id: 'text',
    dst_id: 'text',
    src_uri: 'text',
    dst_uri: 'text',
    pipeline: 'text',
    row_id: 'text',
    first_seen: 'text',
    last_seen: 'text',
    last_run_id: 'text',
    runs: 'bigint',
    last_records: 'bigint',
    column_lineage: 'text',
  },
  `ON CONFLICT (src_id, dst_id, pipeline, row_id) DO UPDATE SET
    first_seen = CASE WHEN excluded.first_seen < ${EDGES}.first_seen THEN excluded.first_seen ELSE ${EDGES}.first_seen END,
    runs = ${EDGES}.runs + excluded.runs,
    ${newest(EDGES, ['last_run_id', 'last_records', 'column_lineage', 'last_seen'])}`,
);

const POINTS = 'svc_catalog_points';
const putPoint = insertInto(POINTS, {
  dataset_id: 'text',
  recorded_at: 'text',
  run_id: 'text',
  records: 'bigint',
  role: 'text',
  pipeline: 'text',
  row_id: 'text',
});
const LAST_KEPT = (id: string): string =>
  `SELECT recorded_at FROM ${POINTS} WHERE dataset_id = ${id} ORDER BY recorded_at DESC LIMIT 1 OFFSET ${KEPT_POINTS - 1}`;
/** Points of the same moment stay or go together. */
const TRIM_POINTS = `DELETE FROM ${POINTS} WHERE dataset_id = ? AND recorded_at < (${LAST_KEPT('?')})`;
const TRIM_POINTS_OF_MANY = {
  sql: `DELETE FROM ${POINTS} p USING unnest(?::text[], ?::text[]) AS v (id, same), LATERAL (${LAST_KEPT('v.same')}) AS kept
    WHERE p.dataset_id = v.id AND p.recorded_at < kept.recorded_at`,
};

const NEXT_SCHEMA = `UPDATE ${DATASETS} SET schema_versions = ?, schema_now = ?, schema_now_hash = ? WHERE id = ? AND schema_versions = ?`;
const NEXT_SCHEMAS = {
  sql: `UPDATE ${DATASETS} d SET schema_versions = v.version, schema_now = v.schema, schema_now_hash = v.hash
    FROM unnest(?::integer[], ?::text[], ?::text[], ?::text[], ?::integer[]) AS v (version, schema, hash, id, before)
    WHERE d.id = v.id AND d.schema_versions = v.before RETURNING d.id AS key`,
  keyAt: 3,
};
const ADD_SCHEMA = `INSERT INTO svc_catalog_schemas (dataset_id, version, recorded_at, run_id, schema, schema_hash, diff)
  SELECT id, ?, ?, ?, ?, ?, ? FROM ${DATASETS} WHERE id = ? AND schema_versions = ? ON CONFLICT (dataset_id, version) DO NOTHING`;
const ADD_SCHEMAS = {
  sql: `INSERT INTO svc_catalog_schemas (dataset_id, version, recorded_at, run_id, schema, schema_hash, diff)
    SELECT d.id, v.version, v.recorded_at, v.run_id, v.schema, v.schema_hash, v.diff
    FROM unnest(?::integer[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::integer[])
      AS v (version, recorded_at, run_id, schema, schema_hash, diff, id, newest)
    JOIN ${DATASETS} d ON d.id = v.id AND d.schema_versions = v.newest ON CONFLICT (dataset_id, version) DO NOTHING
    RETURNING dataset_id AS key`,
  keyAt: 6,
};

const TRIM_SCHEMAS = `DELETE FROM svc_catalog_schemas WHERE dataset_id = ? AND version <= ?`;

/** Databases take only so many values in one statement. */
const IDS_A_STATEMENT = 512;
/** Read in a few milliseconds. */
const EDGES_A_PAGE = 1000;

export class SqlCatalog implements CatalogStore {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async addMovements({ datasets, edges, points }: CatalogGain): Promise<void> {
    const trimmed = [...new Set(points.map(({ dataset_id }) => dataset_id))];
    const statements = [
      ...inOrder(datasets, ({ id }) => id).map(addDataset),
      ...inOrder(edges, (edge) => edgeKeyOf(edge).join('\n')).map(addEdge),
      ...points.map(addPoint),
      ...trimmed.sort().map((id) => ({
        sql: TRIM_POINTS,
        values: [id, id],
        many: TRIM_POINTS_OF_MANY,
      })),
    ];
    await this.#store.write(statements, { background: true, isAside: true });
  }

  async currentSchemas(ids: readonly string[]): Promise<ReadonlyMap<string, CurrentSchema>> {
    const found = new Map<string, CurrentSchema>();
    for (let from = 0; from < ids.length; from += IDS_A_STATEMENT) {
      const some = filled(ids.slice(from, from + IDS_A_STATEMENT));
      const sql = `SELECT id, schema_versions, schema_now, schema_now_hash FROM ${DATASETS} WHERE id IN (${some.map(() => '?').join(', ')})`;
      for (const row of await this.#store.read(sql, some))
        found.set(text(row['id']), currentSchemaOf(row));
    }
    return found;
  }

  async addSchemas(versions: readonly SchemaVersion[]): Promise<readonly boolean[]> {
    if (versions.length === 0) return [];
    const ordered = inOrder(versions, ({ dataset_id }) => dataset_id);
    const trims = ordered.flatMap(({ dataset_id, version }) =>
      version <= KEPT_VERSIONS
        ? []
        : [{ sql: TRIM_SCHEMAS, values: [dataset_id, version - KEPT_VERSIONS] }],
    );
    // A later version of the same data set follows what the one before it did.
    const isOneEach = new Set(ordered.map(({ dataset_id }) => dataset_id)).size === ordered.length;
    const added = ordered.flatMap((version) => addSchema(version, isOneEach));
    const changed = await this.#store.write([...added, ...trims], {
      background: true,
      isAside: true,
    });
    const accepted = new Set(ordered.filter((_, index) => changed[2 * index] === 1));
    return versions.map((version) => accepted.has(version));
  }

  async listDatasets({ kind, q, limit, cursor }: DatasetQuery): Promise<DatasetPage> {
    const conditions: string[] = [];
    const values: SqlValue[] = [];
    const add = (condition: string, ...given: SqlValue[]): void => {
      conditions.push(condition);
      values.push(...given);
    };
    if (kind !== undefined) add('kind = ?', kind);
    if (q !== undefined)
      add(`uri_folded LIKE ? ESCAPE '!'`, `%${q.toLowerCase().replaceAll(/[%_!]/g, '!$&')}%`);
    const after = cursor === undefined ? undefined : await this.#dataset(cursor);
    if (after !== undefined) add('(last_seen, id) < (?, ?)', after.last_seen, after.id);
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const sql = `SELECT * FROM ${DATASETS} ${where} ORDER BY last_seen DESC, id DESC LIMIT ?`;
    const rows = await this.#store.read(sql, [...values, limit + 1]);
    return { datasets: rows.slice(0, limit).map(datasetOf), more: rows.length > limit };
  }

  async getDataset(id: string): Promise<DatasetDetail | undefined> {
    const dataset = await this.#dataset(id);
    if (dataset === undefined) return undefined;
    const timeline = await this.#store.read(
      'SELECT * FROM svc_catalog_schemas WHERE dataset_id = ? ORDER BY version',
      [id],
    );
    const points = await this.#store.read(
      'SELECT recorded_at, run_id, records FROM svc_catalog_points WHERE dataset_id = ? ORDER BY recorded_at DESC LIMIT ?',
      [id, TOLD_POINTS],
    );
    const edges = await this.listEdges([id]);
    return {
      ...dataset,
      schema_timeline: timeline.map(schemaVersionOf),
      stats: points.map((row) => ({
        recorded_at: text(row['recorded_at']),
        run_id: text(row['run_id']),
        records: Number(row['records']),
      })),
      upstream: edges.filter((edge) => edge.dst_id === id),
      downstream: edges.filter((edge) => edge.src_id === id),
    };
  }

  async listEdges(datasets?: readonly string[]): Promise<readonly LineageEdge[]> {
    if (datasets === undefined) return (await this.#allEdges()).sort(lastSeenFirst);
    if (datasets.length === 0) return [];
    const marks = datasets.map(() => '?').join(', ');
    const sql = `SELECT * FROM ${EDGES} WHERE src_id IN (${marks}) OR dst_id IN (${marks})`;
    const rows = await this.#store.read(sql, [...datasets, ...datasets]);
    return rows.map(edgeOf).sort(lastSeenFirst);
  }

  async listMovements({
    row,
    limit,
  }: {
    readonly row?: string;
    readonly limit: number;
  }): Promise<readonly PastMovement[]> {
    const sql = `SELECT p.*, d.uri FROM svc_catalog_points p JOIN ${DATASETS} d ON d.id = p.dataset_id
      WHERE p.role = 'sink' ${row === undefined ? '' : 'AND p.row_id = ?'} ORDER BY p.recorded_at DESC LIMIT ?`;
    const rows = await this.#store.read(sql, [...(row === undefined ? [] : [row]), limit]);
    return rows.map((one) => ({
      dataset_id: text(one['dataset_id']),
      uri: text(one['uri']),
      recorded_at: text(one['recorded_at']),
      run_id: text(one['run_id']),
      records: Number(one['records']),
      pipeline: text(one['pipeline']),
      row: text(one['row_id']),
    }));
  }

  /** Page by page, because a graph may be large and statements of SQLite run on the event loop. */
  async #allEdges(): Promise<LineageEdge[]> {
    const edges: LineageEdge[] = [];
    const key = 'src_id, dst_id, pipeline, row_id';
    for (;;) {
      const last = edges.at(-1);
      const after = last === undefined ? [] : edgeKeyOf(last);
      const sql = `SELECT * FROM ${EDGES} ${last === undefined ? '' : `WHERE (${key}) > (?, ?, ?, ?)`} ORDER BY ${key} LIMIT ?`;
      const rows = await this.#store.read(sql, [...after, EDGES_A_PAGE]);
      edges.push(...rows.map(edgeOf));
      if (rows.length < EDGES_A_PAGE) return edges;
      await pause();
    }
  }

  async #dataset(id: string): Promise<Dataset | undefined> {
    const [row] = await this.#store.read(`SELECT * FROM ${DATASETS} WHERE id = ?`, [id]);
    return row === undefined ? undefined : datasetOf(row);
  }
}

function edgeKeyOf({ src_id, dst_id, pipeline, row }: LineageEdge): readonly string[] {
  return [src_id, dst_id, pipeline, row];
}

function lastSeenFirst(one: LineageEdge, other: LineageEdge): number {
  if (one.last_seen !== other.last_seen) return one.last_seen < other.last_seen ? 1 : -1;
  const [key, otherKey] = [edgeKeyOf(one).join('\n'), edgeKeyOf(other).join('\n')];
  return key === otherKey ? 0 : key < otherKey ? -1 : 1;
}

function addDataset(gain: DatasetGain): SqlStatement {
  const {
    id,
    uri,
    kind,
    roles,
    pipeline,
    first_seen,
    last_seen,
    last_run_id,
    last_records,
    records,
    runs,
  } = gain;
  const [isSource, isSink] = [roles.includes('source') ? 1 : 0, roles.includes('sink') ? 1 : 0];
  return putDataset([
    id,
    uri,
    uri.toLowerCase(),
    kind,
    isSource,
    isSink,
    pipeline,
    first_seen,
    last_seen,
    last_run_id,
    last_records,
    records,
    runs,
    0,
  ]);
}

function addEdge(gain: EdgeGain): SqlStatement {
  const {
    src_id,
    dst_id,
    src_uri,
    dst_uri,
    pipeline,
    row,
    first_seen,
    last_seen,
    last_run_id,
    runs,
    last_records,
    column_lineage,
  } = gain;
  const columns = column_lineage === undefined ? null : toJson(column_lineage);
  return putEdge([
    src_id,
    dst_id,
    src_uri,
    dst_uri,
    pipeline,
    row,
    first_seen,
    last_seen,
    last_run_id,
    runs,
    last_records,
    columns,
  ]);
}

/** The data set goes ahead, where the version is its next one; the version follows it. */
function addSchema(
  { dataset_id, version, recorded_at, run_id, schema_hash, diff, ...rest }: SchemaVersion,
  mayBeMerged: boolean,
): readonly SqlStatement[] {
  const [schema, change] = [toJson(rest.schema), diff === undefined ? null : toJson(diff)];
  return [
    {
      sql: NEXT_SCHEMA,
      values: [version, schema, schema_hash, dataset_id, version - 1],
      ...(mayBeMerged ? { many: NEXT_SCHEMAS } : {}),
    },
    {
      sql: ADD_SCHEMA,
      values: [version, recorded_at, run_id, schema, schema_hash, change, dataset_id, version],
      ...(mayBeMerged ? { many: ADD_SCHEMAS } : {}),
    },
  ];
}

function addPoint({
  dataset_id,
  recorded_at,
  run_id,
  records,
  role,
  pipeline,
  row,
}: PointGain): SqlStatement {
  return putPoint([dataset_id, recorded_at, run_id, records, role, pipeline, row]);
}

/**
 * Up to a power of two, by naming the first once more: statements are kept prepared, and so there
 * are few of them.
 */
function filled(ids: readonly string[]): readonly string[] {
  const [first = ''] = ids;
  return [
    ...ids,
    ...Array.from({ length: 2 ** Math.ceil(Math.log2(ids.length)) - ids.length }, () => first),
  ];
}

/**
 * Always the same order: two instances that change the same rows wait for each other instead of for
 * ever.
 */
function inOrder<T>(rows: readonly T[], keyOf: (row: T) => string): readonly T[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  return keyed.sort((a, b) => (a.key === b.key ? 0 : a.key < b.key ? -1 : 1)).map(({ row }) => row);
}
