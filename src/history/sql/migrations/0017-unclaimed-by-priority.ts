import type { Migration } from './migration.ts';

/**
 * Servers of a cluster take runs in the order of this index. Its condition is worded in another way
 * than that of `svc_serve_runs_unclaimed`, so that no planner takes that one for it; servers of the
 * release before need that one.
 */
export const unclaimedByPriority: Migration = {
  version: 17,
  name: 'unclaimed-by-priority',
  database: 'postgres',
  isAddition: true,
  sql: `
CREATE INDEX svc_serve_runs_unclaimed_by_priority ON svc_serve_runs (priority, (COALESCE(name, '')), submitted_at, run_id) WHERE owner || status = 'queued';
`,
};
