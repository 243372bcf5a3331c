import type { Migration } from './migration.ts';

/**
 * A server takes over the queue of one that is gone a hundred runs at a time, in the order in which
 * they begin. Without this index each hundred sorts the whole queue.
 */
export const queuedInTurn: Migration = {
  version: 18,
  name: 'queued-in-turn',
  database: 'sqlite',
  isAddition: true,
  sql: `
CREATE INDEX svc_serve_runs_queued_in_turn ON svc_serve_runs (priority DESC, submitted_at, run_id) WHERE status = 'queued';
`,
};
