import type { Migration } from './migration.ts';

export const controlPlane: Migration = {
  version: 1,
  name: 'control-plane',
  sql: `
CREATE TABLE svc_serve_runs (
  run_id           TEXT PRIMARY KEY,
  name             TEXT,
  labels           TEXT NOT NULL,
  status           TEXT NOT NULL,
  submitted_at     TEXT NOT NULL,
  started_at       TEXT,
  finished_at      TEXT,
  records_written  BIGINT NOT NULL,
  invocations      TEXT NOT NULL,
  error            TEXT,
  idempotency_key  TEXT,
  doctor_report    TEXT,
  callback         TEXT,
  attempt          INTEGER NOT NULL,
  owner            TEXT NOT NULL,
  lease_until      TEXT NOT NULL,
  cancel_requested INTEGER NOT NULL
);
CREATE INDEX svc_serve_runs_newest ON svc_serve_runs (submitted_at DESC, run_id DESC);
CREATE INDEX svc_serve_runs_by_name ON svc_serve_runs (name, submitted_at DESC, run_id DESC);
CREATE INDEX svc_serve_runs_by_status ON svc_serve_runs (status, submitted_at DESC, run_id DESC);
CREATE INDEX svc_serve_runs_unfinished ON svc_serve_runs (owner) WHERE status IN ('queued', 'running');
CREATE INDEX svc_serve_runs_finished ON svc_serve_runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE svc_serve_idem (
  idem_key    TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  run_id      TEXT NOT NULL,
  claimed_at  TEXT NOT NULL
);
CREATE INDEX svc_serve_idem_by_run ON svc_serve_idem (run_id);
CREATE INDEX svc_serve_idem_by_age ON svc_serve_idem (claimed_at);

CREATE TABLE svc_serve_instances (
  instance_id    TEXT PRIMARY KEY,
  host           TEXT NOT NULL,
  pid            INTEGER NOT NULL,
  pid_started    TEXT,
  listen         TEXT,
  started_at     TEXT NOT NULL,
  seen_at        TEXT NOT NULL,
  max_concurrent INTEGER NOT NULL,
  in_flight      INTEGER NOT NULL
);

CREATE TABLE svc_serve_audit (
  id                 TEXT PRIMARY KEY,
  timestamp          TEXT NOT NULL,
  principal          TEXT NOT NULL,
  role               TEXT NOT NULL,
  action             TEXT NOT NULL,
  result             TEXT NOT NULL,
  run_id             TEXT,
  config_fingerprint TEXT,
  source_ip          TEXT
);
CREATE INDEX svc_serve_audit_newest ON svc_serve_audit (timestamp DESC, id DESC);

CREATE TABLE svc_serve_run_logs (
  run_id       TEXT NOT NULL,
  seq          BIGINT NOT NULL,
  ts           TEXT NOT NULL,
  level        TEXT NOT NULL,
  line         TEXT NOT NULL,
  is_truncated INTEGER NOT NULL,
  PRIMARY KEY (run_id, seq)
);
CREATE INDEX svc_serve_run_logs_by_age ON svc_serve_run_logs (ts);
`,
};
