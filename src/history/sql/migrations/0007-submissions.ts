import type { Migration } from './migration.ts';

/**
 * Beside the runs, so that lists do not read documents, and pages of erased ones are used again.
 */
export const submissions: Migration = {
  version: 7,
  name: 'submissions',
  sql: `
CREATE TABLE svc_serve_submissions (
  run_id    TEXT PRIMARY KEY,
  content   TEXT NOT NULL,
  base_hash TEXT
);
CREATE INDEX svc_serve_submissions_by_base ON svc_serve_submissions (base_hash) WHERE base_hash IS NOT NULL;
CREATE TABLE svc_serve_submission_bases (
  hash    TEXT PRIMARY KEY,
  content TEXT NOT NULL
);
`,
};
