import type { Migration } from './migration.ts';

/** What triggers remember of the systems that they look at. */
export const triggers: Migration = {
  version: 11,
  name: 'triggers',
  sql: `
CREATE TABLE svc_serve_trigger_memories (
  name TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  content TEXT NOT NULL
);
`,
};
