import type { Migration } from './migration.ts';

/**
 * Queued runs that no server holds, in the order in which servers of a cluster take them; and how
 * often a run was taken, which tells its executions apart.
 */
export const cluster: Migration = {
  version: 14,
  name: 'cluster',
  database: 'postgres',
  sql: `
ALTER TABLE svc_serve_runs ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
CREATE INDEX svc_serve_runs_unclaimed ON svc_serve_runs ((COALESCE(name, '')), submitted_at, run_id) WHERE status = 'queued' AND owner = '';
ALTER TABLE svc_serve_instances ADD COLUMN clustered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE svc_serve_instances ADD COLUMN lease_until TEXT NOT NULL DEFAULT '';
`,
};
