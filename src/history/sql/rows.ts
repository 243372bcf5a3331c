/**
 * Between rows and records. JSON columns hold what this program wrote, so they are read without
 * checking.
 */
import type { SQLOutputValue } from 'node:sqlite';
import { parseJson, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { AuditRecord } from '../../wire/audit.ts';
import type { RunStatus } from '../../wire/run-status.ts';
import type { Shard } from '../../wire/shards.ts';
import type { InvocationRecord } from '../../wire/run.ts';
import type { Instance, StoredRun } from '../history.ts';
import { priorityOfRank, rankOf } from './priority-rank.ts';
import type { Row, SqlValue } from './sql-store.ts';

export const RUN_COLUMNS = {
  run_id: 'text',
  name: 'text',
  labels: 'text',
  status: 'text',
  submitted_at: 'text',
  started_at: 'text',
  finished_at: 'text',
  records_written: 'bigint',
  invocations: 'text',
  error: 'text',
  idempotency_key: 'text',
  doctor_report: 'text',
  callback: 'text',
  attempt: 'integer',
  owner: 'text',
  lease_until: 'text',
  cancel_requested: 'integer',
  priority: 'integer',
} as const;

export function runValues(run: StoredRun): SqlValue[] {
  return [
    run.run_id,
    run.name,
    toJson(run.labels),
    run.status,
    run.submitted_at,
    run.started_at,
    run.finished_at,
    run.records_written,
    throughputColumn(run),
    run.error,
    run.idempotency_key,
    run.doctor_report === null ? null : toJson(run.doctor_report),
    run.callback === undefined ? null : toJson(run.callback),
    run.attempt,
    run.owner,
    run.lease_until,
    run.cancel_requested ? 1 : 0,
    rankOf(run),
  ];
}

export function runOf(row: Row): StoredRun {
  const callback = row['callback'];
  return {
    run_id: text(row['run_id']),
    name: textOrNull(row['name']),
    labels: fromJson(row['labels']) as Record<string, string>,
    status: text(row['status']) as RunStatus,
    submitted_at: text(row['submitted_at']),
    started_at: textOrNull(row['started_at']),
    finished_at: textOrNull(row['finished_at']),
    records_written: Number(row['records_written']),
    ...throughputOf(row),
    error: textOrNull(row['error']),
    idempotency_key: textOrNull(row['idempotency_key']),
    doctor_report: row['doctor_report'] === null ? null : fromJson(row['doctor_report']),
    ...(callback === null ? {} : { callback: fromJson(callback) }),
    attempt: Number(row['attempt']),
    owner: text(row['owner']),
    lease_until: text(row['lease_until']),
    cancel_requested: row['cancel_requested'] === 1,
    ...priorityOfRank(Number(row['priority'])),
    ...shardOf(row),
  };
}

type Throughput = Pick<StoredRun, 'invocations' | 'nodes'>;

/**
 * What went through the nodes of a graph stands in its first invocation: a column of its own would
 * keep the release before from joining servers of this one.
 */
export function throughputColumn({ invocations, nodes }: Throughput): string {
  const [first, ...others] = invocations;
  return toJson(
    nodes === undefined || first === undefined ? invocations : [{ ...first, nodes }, ...others],
  );
}

function throughputOf({ invocations: column }: Row): Throughput {
  const stored = fromJson(column) as unknown as (InvocationRecord & Pick<StoredRun, 'nodes'>)[];
  const [first, ...others] = stored;
  if (first?.nodes === undefined) return { invocations: stored };
  const { nodes, ...invocation } = first;
  return { invocations: [invocation, ...others], nodes };
}

function shardOf({ parent_id, shard }: Row): Pick<StoredRun, 'parent_id' | 'shard'> {
  if (parent_id == null) return {};
  return { parent_id: text(parent_id), shard: fromJson(shard) as unknown as Shard };
}

export function auditOf(row: Row): AuditRecord {
  const { run_id, config_fingerprint, source_ip } = row;
  return {
    id: text(row['id']),
    timestamp: text(row['timestamp']),
    principal: text(row['principal']),
    role: text(row['role']),
    action: text(row['action']),
    result: text(row['result']),
    ...(run_id === null ? {} : { run_id: text(run_id) }),
    ...(config_fingerprint === null ? {} : { config_fingerprint: text(config_fingerprint) }),
    ...(source_ip === null ? {} : { source_ip: text(source_ip) }),
  };
}

export function instanceOf(row: Row): Instance {
  return {
    instance_id: text(row['instance_id']),
    host: text(row['host']),
    pid: Number(row['pid']),
    pid_started: textOrNull(row['pid_started']),
    listen: textOrNull(row['listen']),
    started_at: text(row['started_at']),
    seen_at: text(row['seen_at']),
    max_concurrent: Number(row['max_concurrent']),
    in_flight: Number(row['in_flight']),
  };
}

export function toJson(value: unknown): string {
  return stringifyJson(value as JsonValue);
}

export function text(value: SQLOutputValue | undefined): string {
  return typeof value === 'string' ? value : String(value);
}

function textOrNull(value: SQLOutputValue | undefined): string | null {
  return value === null || value === undefined ? null : text(value);
}

function fromJson(value: SQLOutputValue | undefined): JsonValue {
  return parseJson(text(value));
}
