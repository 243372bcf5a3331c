import type { Migration } from './migration.ts';

/**
 * A run that is read in shards has one row for each of them, of which it is the parent. Only servers
 * of a cluster make such rows; lists and retention know them in every database.
 */
export const shards: Migration = {
  version: 15,
  name: 'shards',
  sql: `
ALTER TABLE svc_serve_runs ADD COLUMN parent_id TEXT;
ALTER TABLE svc_serve_runs ADD COLUMN shard TEXT;
CREATE INDEX svc_serve_runs_of_parent ON svc_serve_runs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX svc_serve_runs_unclaimed_shards ON svc_serve_runs (submitted_at, run_id) WHERE status = 'queued' AND owner = '/shard';
`,
};
