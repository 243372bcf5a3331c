/** For SQLite and PostgreSQL. */
export const CATALOG_TABLES = `
CREATE TABLE IF NOT EXISTS svc_catalog_datasets (
  id                  TEXT PRIMARY KEY,
  uri                 TEXT NOT NULL,
  uri_folded          TEXT NOT NULL,
  kind                TEXT NOT NULL,
  is_source           INTEGER NOT NULL,
  is_sink             INTEGER NOT NULL,
  pipeline            TEXT NOT NULL,
  first_seen          TEXT NOT NULL,
  last_seen           TEXT NOT NULL,
  last_run_id         TEXT NOT NULL,
  last_records        BIGINT NOT NULL,
  total_records       BIGINT NOT NULL,
  runs                BIGINT NOT NULL,
  schema_versions     INTEGER NOT NULL,
  schema_now          TEXT,
  schema_now_hash     TEXT
);
CREATE INDEX IF NOT EXISTS svc_catalog_datasets_newest ON svc_catalog_datasets (last_seen DESC, id DESC);

CREATE TABLE IF NOT EXISTS svc_catalog_schemas (
  dataset_id  TEXT NOT NULL,
  version     INTEGER NOT NULL,
  recorded_at TEXT NOT NULL,
  run_id      TEXT NOT NULL,
  schema      TEXT NOT NULL,
  schema_hash TEXT NOT NULL,
  diff        TEXT,
  PRIMARY KEY (dataset_id, version)
);

CREATE TABLE IF NOT EXISTS svc_catalog_points (
  dataset_id  TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  run_id      TEXT NOT NULL,
  records     BIGINT NOT NULL,
  role        TEXT NOT NULL,
  pipeline    TEXT NOT NULL,
  row_id      TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS svc_catalog_points_newest ON svc_catalog_points (dataset_id, recorded_at DESC);
CREATE INDEX IF NOT EXISTS svc_catalog_points_by_time ON svc_catalog_points (recorded_at DESC);

CREATE TABLE IF NOT EXISTS svc_catalog_edges (
  src_id         TEXT NOT NULL,
  dst_id         TEXT NOT NULL,
  src_uri        TEXT NOT NULL,
  dst_uri        TEXT NOT NULL,
  pipeline       TEXT NOT NULL,
  row_id         TEXT NOT NULL,
  first_seen     TEXT NOT NULL,
  last_seen      TEXT NOT NULL,
  last_run_id    TEXT NOT NULL,
  runs           BIGINT NOT NULL,
  last_records   BIGINT NOT NULL,
  column_lineage TEXT,
  PRIMARY KEY (src_id, dst_id, pipeline, row_id)
);
CREATE INDEX IF NOT EXISTS svc_catalog_edges_by_end ON svc_catalog_edges (dst_id);
`;
