import type { Migration } from './migration.ts';

/**
 * Submissions stay as long as their runs, so that these can be run again; a document that is
 * submitted many times is stored once.
 */
export const sharedTexts: Migration = {
  version: 9,
  name: 'shared-texts',
  sql: `
ALTER TABLE svc_serve_submission_bases RENAME TO svc_serve_texts;
ALTER TABLE svc_serve_submissions ADD COLUMN document_hash TEXT;
CREATE INDEX svc_serve_submissions_by_document ON svc_serve_submissions (document_hash) WHERE document_hash IS NOT NULL;
`,
};
