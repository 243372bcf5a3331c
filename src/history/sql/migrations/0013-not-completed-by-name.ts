import type { Migration } from './migration.ts';

/**
 * The failed runs of a name among very many completed ones. In SQLite the index of the name is fast
 * enough, and one more would slow down every run.
 */
export const notCompletedByName: Migration = {
  version: 13,
  name: 'not-completed-by-name',
  database: 'postgres',
  sql: `
CREATE INDEX svc_serve_runs_not_completed_by_name ON svc_serve_runs (name, submitted_at, run_id) WHERE status <> 'completed';
`,
};
