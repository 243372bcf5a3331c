import type { Migration } from './migration.ts';

/**
 * The tables with the most writes are stored in the tree of their key: an audit entry is written
 * once instead of three times, a log line twice.
 */
export const oneTree: Migration = {
  version: 5,
  name: 'one-tree',
  sql: `
CREATE TABLE svc_serve_audit_in_order (
  id                 TEXT NOT NULL,
  timestamp          TEXT NOT NULL,
  principal          TEXT NOT NULL,
  role               TEXT NOT NULL,
  action             TEXT NOT NULL,
  result             TEXT NOT NULL,
  run_id             TEXT,
  config_fingerprint TEXT,
  source_ip          TEXT,
  PRIMARY KEY (timestamp, id)
) WITHOUT ROWID;
INSERT INTO svc_serve_audit_in_order SELECT * FROM svc_serve_audit ORDER BY timestamp, id;
DROP TABLE svc_serve_audit;
ALTER TABLE svc_serve_audit_in_order RENAME TO svc_serve_audit;

CREATE TABLE svc_serve_run_logs_in_order (
  run_id       TEXT NOT NULL,
  seq          BIGINT NOT NULL,
  ts           TEXT NOT NULL,
  level        TEXT NOT NULL,
  line         TEXT NOT NULL,
  is_truncated INTEGER NOT NULL,
  PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
INSERT INTO svc_serve_run_logs_in_order SELECT * FROM svc_serve_run_logs ORDER BY run_id, seq;
DROP TABLE svc_serve_run_logs;
ALTER TABLE svc_serve_run_logs_in_order RENAME TO svc_serve_run_logs;
CREATE INDEX svc_serve_run_logs_by_age ON svc_serve_run_logs (ts);
`,
};
