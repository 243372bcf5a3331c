/** Removes what is older than its bound, in parts: the event loop and other writers get their turn. */
import type { PurgeBounds, Purged } from '../history.ts';
import { SHARDED } from '../shards.ts';
import { text } from './rows.ts';
import type { SqlScript, SqlStore } from './sql-store.ts';
import { eraseSubmissions } from './sql-submissions.ts';

/** Removed by one statement, which holds up others. */
const PURGE_ROWS = 200;
const CLAIMS_OF_RUNS =
  '(idem_key, run_id) IN (SELECT idempotency_key, run_id FROM svc_serve_runs WHERE finished_at < ?)';
const PURGE_RUNS = `DELETE FROM svc_serve_runs WHERE run_id IN
  (SELECT run_id FROM svc_serve_runs WHERE finished_at < ? AND parent_id IS NULL LIMIT ${PURGE_ROWS}) RETURNING run_id, owner`;
/** They stay for as long as their run. */
const PURGE_SHARDS = 'DELETE FROM svc_serve_runs WHERE parent_id = ?';

interface Table {
  readonly name: string;
  readonly key: string;
}

const CLAIMS: Table = { name: 'svc_serve_idem', key: 'idem_key' };
const AUDIT: Table = { name: 'svc_serve_audit', key: 'timestamp, id' };
const LOGS: Table = { name: 'svc_serve_run_logs', key: 'run_id, seq' };
const INSTANCES: Table = { name: 'svc_serve_instances', key: 'instance_id' };

export async function purge(store: SqlStore, bounds: PurgeBounds): Promise<Purged> {
  const { runsBefore, claimsBefore, auditBefore, logsBefore, instancesBefore } = bounds;
  const claims = await purgeTable(store, CLAIMS, CLAIMS_OF_RUNS, runsBefore);
  return {
    runs: await purgeRuns(store, runsBefore),
    claims: claims + (await purgeTable(store, CLAIMS, 'claimed_at < ?', claimsBefore)),
    audit: await purgeTable(store, AUDIT, 'timestamp < ?', auditBefore),
    logs: await purgeTable(store, LOGS, 'ts < ?', logsBefore),
    instances: await purgeTable(store, INSTANCES, 'seen_at < ?', instancesBefore),
  };
}

/** With their submissions. */
async function purgeRuns(store: SqlStore, before: string | undefined): Promise<number> {
  if (before === undefined) return 0;
  const remove = function* (): SqlScript<number> {
    const [removed] = yield [{ sql: PURGE_RUNS, values: [before], returns: true }];
    const ids = removed?.rows.map((row) => text(row['run_id'])) ?? [];
    const sharded = removed?.rows.filter((row) => row['owner'] === SHARDED) ?? [];
    yield sharded.map((row) => ({ sql: PURGE_SHARDS, values: [text(row['run_id'])] }));
    yield* eraseSubmissions(store.dialect, ids);
    return ids.length;
  };
  return untilFew(() => store.change(remove));
}

async function purgeTable(
  store: SqlStore,
  { name, key }: Table,
  condition: string,
  before: string | undefined,
): Promise<number> {
  if (before === undefined) return 0;
  const sql = `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE ${condition} LIMIT ${PURGE_ROWS})`;
  return untilFew(async () => (await store.write([{ sql, values: [before] }]))[0] ?? 0);
}

async function untilFew(remove: () => Promise<number>): Promise<number> {
  for (let total = 0; ;) {
    const removed = await remove();
    total += removed;
    if (removed < PURGE_ROWS) return total;
  }
}
