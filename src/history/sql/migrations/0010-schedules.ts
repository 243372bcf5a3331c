import type { Migration } from './migration.ts';

/**
 * The second statement finds every template of before that may have a schedule; whether it has one
 * shows when it is read.
 */
export const schedules: Migration = {
  version: 10,
  name: 'schedules',
  sql: `
ALTER TABLE svc_serve_template_versions ADD COLUMN is_scheduled INTEGER NOT NULL DEFAULT 0;
UPDATE svc_serve_template_versions SET is_scheduled = 1 WHERE kind = 'pipeline' AND body LIKE '%schedule%';
CREATE INDEX svc_serve_template_versions_scheduled ON svc_serve_template_versions (id, version) WHERE is_scheduled = 1;

CREATE TABLE svc_serve_schedules (
  name  TEXT PRIMARY KEY,
  state TEXT NOT NULL
);
`,
};
