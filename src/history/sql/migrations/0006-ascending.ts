import type { Migration } from './migration.ts';

/**
 * New entries go to the end of an index, where a full page is not divided but followed by
 * another one: fewer pages are written with each commit. Read backwards, such an index gives the
 * newest first, too.
 */
export const ascending: Migration = {
  version: 6,
  name: 'ascending',
  sql: `
DROP INDEX svc_serve_runs_newest;
CREATE INDEX svc_serve_runs_newest ON svc_serve_runs (submitted_at, run_id);
DROP INDEX svc_serve_runs_by_name;
CREATE INDEX svc_serve_runs_by_name ON svc_serve_runs (name, submitted_at, run_id);
DROP INDEX svc_serve_runs_not_completed;
CREATE INDEX svc_serve_runs_not_completed ON svc_serve_runs (status, submitted_at, run_id) WHERE status <> 'completed';
DROP INDEX svc_serve_outputs_newest;
CREATE INDEX svc_serve_outputs_newest ON svc_serve_outputs (last_written_at, id DESC);
DROP INDEX svc_catalog_datasets_newest;
CREATE INDEX svc_catalog_datasets_newest ON svc_catalog_datasets (last_seen, id);
DROP INDEX svc_catalog_points_newest;
CREATE INDEX svc_catalog_points_newest ON svc_catalog_points (dataset_id, recorded_at);
DROP INDEX svc_catalog_points_by_time;
CREATE INDEX svc_catalog_points_by_time ON svc_catalog_points (recorded_at);
`,
};
