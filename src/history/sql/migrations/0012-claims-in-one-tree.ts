import type { Migration } from './migration.ts';

/**
 * A claim is stored in the tree of its key: each was written four times. Those of a run are found by
 * the key that the run holds.
 */
export const claimsInOneTree: Migration = {
  version: 12,
  name: 'claims-in-one-tree',
  sql: `
CREATE TABLE svc_serve_idem_in_order (
  idem_key    TEXT NOT NULL PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  run_id      TEXT NOT NULL,
  claimed_at  TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO svc_serve_idem_in_order SELECT idem_key, fingerprint, run_id, claimed_at FROM svc_serve_idem ORDER BY idem_key;
DROP TABLE svc_serve_idem;
ALTER TABLE svc_serve_idem_in_order RENAME TO svc_serve_idem;
CREATE INDEX svc_serve_idem_by_age ON svc_serve_idem (claimed_at);
`,
};
