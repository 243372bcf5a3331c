import type { Migration } from './migration.ts';

export const templates: Migration = {
  version: 8,
  name: 'templates',
  sql: `
CREATE TABLE svc_serve_templates (
  id            TEXT PRIMARY KEY,
  revision      INTEGER NOT NULL,
  change_id     TEXT NOT NULL,
  registered_at TEXT NOT NULL,
  newest        INTEGER NOT NULL,
  state         TEXT NOT NULL
);
CREATE INDEX svc_serve_templates_newest ON svc_serve_templates (registered_at DESC, id);

CREATE TABLE svc_serve_template_versions (
  id          TEXT NOT NULL,
  version     INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  name        TEXT,
  description TEXT,
  body        TEXT NOT NULL,
  format      TEXT NOT NULL,
  params      TEXT NOT NULL,
  created_at  TEXT NOT NULL,
  created_by  TEXT,
  PRIMARY KEY (id, version)
);
`,
};
