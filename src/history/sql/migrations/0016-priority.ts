import type { Migration } from './migration.ts';

/** Builds that do not know it store and take runs of the default priority. */
export const priority: Migration = {
  version: 16,
  name: 'priority',
  isAddition: true,
  sql: `ALTER TABLE svc_serve_runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;`,
};
