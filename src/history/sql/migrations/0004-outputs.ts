import type { Migration } from './migration.ts';

export const outputs: Migration = {
  version: 4,
  name: 'outputs',
  sql: `
CREATE TABLE svc_serve_outputs (
  id               TEXT PRIMARY KEY,
  path             TEXT NOT NULL,
  dataset_uri      TEXT NOT NULL,
  dataset_id       TEXT NOT NULL,
  kind             TEXT NOT NULL,
  pipeline         TEXT NOT NULL,
  row_id           TEXT NOT NULL,
  run_id           TEXT NOT NULL,
  pre_existing     INTEGER NOT NULL,
  replaced         INTEGER NOT NULL,
  retention_days   INTEGER,
  first_written_at TEXT NOT NULL,
  last_written_at  TEXT NOT NULL,
  deleted_at       TEXT,
  deleted_bytes    BIGINT
);
CREATE INDEX svc_serve_outputs_newest ON svc_serve_outputs (last_written_at DESC, id);
`,
};
