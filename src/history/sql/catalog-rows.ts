/**
 * Between rows of the catalog and its records. JSON columns hold what this program wrote, so they
 * are read without checking.
 */
import { parseJson } from '../../lib/text/json.ts';
import type { Dataset, LineageEdge, SchemaDiff, SchemaVersion } from '../../wire/catalog.ts';
import type { CurrentSchema } from '../catalog.ts';
import type { Row } from './sql-store.ts';
import { text } from './rows.ts';

export function datasetOf(row: Row): Dataset {
  const { schema_now: schema, schema_now_hash: hash } = row;
  const lastSeen = text(row['last_seen']);
  return {
    id: text(row['id']),
    uri: text(row['uri']),
    kind: text(row['kind']),
    roles: [
      ...(Number(row['is_source']) === 1 ? ['source' as const] : []),
      ...(Number(row['is_sink']) === 1 ? ['sink' as const] : []),
    ],
    pipeline: text(row['pipeline']),
    first_seen: text(row['first_seen']),
    last_seen: lastSeen,
    last_success: lastSeen,
    last_run_id: text(row['last_run_id']),
    last_records: Number(row['last_records']),
    total_records: Number(row['total_records']),
    runs: Number(row['runs']),
    schema_versions: Number(row['schema_versions']),
    ...(schema === null
      ? {}
      : { current_schema: parseJson(text(schema)) as Record<string, unknown> }),
    ...(hash === null ? {} : { current_schema_hash: text(hash) }),
  };
}

export function currentSchemaOf(row: Row): CurrentSchema {
  const { schema_now: schema, schema_now_hash: hash } = row;
  return {
    version: Number(row['schema_versions']),
    schema: schema === null ? undefined : (parseJson(text(schema)) as Record<string, unknown>),
    hash: hash === null ? undefined : text(hash),
  };
}

export function schemaVersionOf(row: Row): SchemaVersion {
  const { diff } = row;
  return {
    dataset_id: text(row['dataset_id']),
    version: Number(row['version']),
    recorded_at: text(row['recorded_at']),
    run_id: text(row['run_id']),
    schema: parseJson(text(row['schema'])) as Record<string, unknown>,
    schema_hash: text(row['schema_hash']),
    ...(diff === null ? {} : { diff: parseJson(text(diff)) as unknown as SchemaDiff }),
  };
}

export function edgeOf(row: Row): LineageEdge {
  const { column_lineage: columns } = row;
  return {
    src_id: text(row['src_id']),
    dst_id: text(row['dst_id']),
    src_uri: text(row['src_uri']),
    dst_uri: text(row['dst_uri']),
    pipeline: text(row['pipeline']),
    row: text(row['row_id']),
    first_seen: text(row['first_seen']),
    last_seen: text(row['last_seen']),
    last_run_id: text(row['last_run_id']),
    runs: Number(row['runs']),
    last_records: Number(row['last_records']),
    ...(columns === null
      ? {}
      : { column_lineage: parseJson(text(columns)) as { fields: Record<string, string[]> } }),
  };
}
