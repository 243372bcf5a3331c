import type { Migration } from './migration.ts';

/** What went through the nodes of a graph; null for every other run. */
export const nodes: Migration = {
  version: 16,
  name: 'nodes',
  sql: 'ALTER TABLE svc_serve_runs ADD COLUMN nodes TEXT',
};
