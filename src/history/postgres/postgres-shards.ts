/** The shards of runs: each is a row beside those of runs, and the last one ends the run. */
import type { ClaimedRun, ClaimRequest, ShardStore } from '../cluster.ts';
import type { RunEnding, RunFence, StoredRun } from '../history.ts';
import {
  UNCLAIMED_SHARD,
  type CancelledShards,
  type EndOfShard,
  type NewShard,
} from '../shards.ts';
import type { ShardProgress } from '../../wire/shards.ts';
import { finishRun } from '../sql/run-statements.ts';
import { priorityOf, type RunPriority } from '../../wire/run-priority.ts';
import { priorityOfRank, rankOf, RANKS } from '../sql/priority-rank.ts';
import { runOf, text, toJson } from '../sql/rows.ts';
import type { Row, SqlDialect, SqlScript, SqlStatement, SqlValue } from '../sql/sql-store.ts';
import { eraseSubmissions } from '../sql/sql-submissions.ts';
import { claimedRuns } from './claimed-runs.ts';
import type { PostgresStore } from './postgres-store.ts';
import { endOfRun } from './shard-end.ts';
import * as statements from './shard-statements.ts';

export class PostgresShards implements ShardStore {
  readonly #store: PostgresStore;

  constructor(store: PostgresStore) {
    this.#store = store;
  }

  splitRun(fence: RunFence, shards: readonly NewShard[]): Promise<boolean> {
    return this.#store.change(() => split(fence, shards), { isDecisive: true });
  }

  claimShards({
    owner,
    leaseMs,
    limit,
    atLeast = 'low',
  }: Omit<ClaimRequest, 'behind'>): Promise<readonly ClaimedRun[]> {
    const values = [RANKS[atLeast], limit, owner, leaseMs];
    const claim = returning(statements.CLAIM_SHARDS, values);
    const script = function* (): SqlScript<readonly ClaimedRun[]> {
      return claimedRuns(yield [claim]);
    };
    return this.#store.change(script, { touches: ['shards'], isDecisive: true });
  }

  async waitingPriorities(): Promise<readonly RunPriority[]> {
    const rows = await this.#store.read(statements.WAITING_PRIORITIES, []);
    return rows.map((row) => priorityOf(priorityOfRank(Number(row['priority']))));
  }

  finishShard(fence: RunFence, ending: RunEnding): Promise<EndOfShard> {
    const { dialect } = this.#store;
    return this.#store.change(() => finish(dialect, fence, ending), { isDecisive: true });
  }

  cancelShards(parentId: string): Promise<CancelledShards> {
    const { dialect } = this.#store;
    return this.#store.change(() => cancel(dialect, parentId), { isDecisive: true });
  }

  async settleShards(): Promise<readonly CancelledShards[]> {
    const open = await this.#store.read(statements.OPEN_PARENTS, []);
    const settled: CancelledShards[] = [];
    for (const row of open) settled.push(await this.#settle(text(row['run_id'])));
    return settled;
  }

  #settle(parentId: string): Promise<CancelledShards> {
    const { dialect } = this.#store;
    return this.#store.change(function* (): SqlScript<CancelledShards> {
      const parent = yield* lockParent(parentId);
      if (parent === undefined) return { running: [] };
      if (parent.cancel_requested) return yield* cancel(dialect, parentId);
      return { running: [], ended: yield* endIfLast(dialect, parent, true) };
    });
  }

  async shardProgress(parentIds: readonly string[]): Promise<ReadonlyMap<string, ShardProgress>> {
    if (parentIds.length === 0) return new Map();
    const sql = statements.progressOf(parentIds.length);
    return new Map((await this.#store.read(sql, parentIds)).map(progressOf));
  }
}

function returning(sql: string, values: readonly SqlValue[]): SqlStatement {
  return { sql, values, returns: true };
}

function progressOf(row: Row): readonly [string, ShardProgress] {
  const count = (name: string): number => Number(row[name]);
  const counts = {
    total: count('total'),
    completed: count('completed'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    running: count('running'),
    pending: count('pending'),
  };
  return [text(row['parent_id']), { counts, records_written: count('records_written') }];
}

function* split(fence: RunFence, shards: readonly NewShard[]): SqlScript<boolean> {
  const { run_id, owner, attempt } = fence;
  const [held] = yield [returning(statements.SPLIT, [run_id, owner, attempt])];
  const row = held?.rows[0];
  if (row === undefined) return false;
  const run = runOf(row);
  const { name, labels, submitted_at } = run;
  const place = [UNCLAIMED_SHARD, '', 0, rankOf(run)];
  const rest = [name, toJson(labels), 'queued', submitted_at, 0, '[]', 0, ...place];
  yield shards.map((one) =>
    statements.insertShard([one.run_id, run_id, toJson(one.shard), ...rest]),
  );
  return true;
}

function* lockParent(parentId: string): SqlScript<StoredRun | undefined> {
  const [locked] = yield [returning(statements.LOCK_PARENT, [parentId])];
  const row = locked?.rows[0];
  return row === undefined ? undefined : runOf(row);
}

function* finish(dialect: SqlDialect, fence: RunFence, ending: RunEnding): SqlScript<EndOfShard> {
  const [found] = yield [returning(statements.PARENT_OF, [fence.run_id])];
  const parentId = found?.rows[0]?.['parent_id'];
  const parent = parentId == null ? undefined : yield* lockParent(text(parentId));
  const [finished] = yield [finishRun(fence, ending)];
  if (finished?.changed !== 1) return { isRecorded: false };
  if (parent === undefined) return { isRecorded: true };
  const ended = yield* endIfLast(dialect, parent, ending.erases_submission === true);
  return { isRecorded: true, ended };
}

/** The parent is locked. */
function* endIfLast(
  dialect: SqlDialect,
  parent: StoredRun,
  erases: boolean,
): SqlScript<StoredRun | undefined> {
  const { run_id } = parent;
  const [open] = yield [returning(statements.COUNT_OPEN, [run_id])];
  if (open?.rows[0]?.['open'] !== 0) return undefined;
  const [all] = yield [returning(statements.SHARDS_OF, [run_id])];
  const end = endOfRun(parent, (all?.rows ?? []).map(runOf));
  const { status, records_written, invocations, error } = end;
  const values = [status, records_written, toJson(invocations), error, run_id];
  const [ended] = yield [returning(statements.END_PARENT, values)];
  if (erases) yield* eraseSubmissions(dialect, [run_id]);
  const row = ended?.rows[0];
  return row === undefined ? undefined : runOf(row);
}

function* cancel(dialect: SqlDialect, parentId: string): SqlScript<CancelledShards> {
  const parent = yield* lockParent(parentId);
  if (parent === undefined) return { running: [] };
  const [, claimed] = yield [
    { sql: statements.CANCEL_UNCLAIMED, values: [parentId] },
    returning(statements.CANCEL_CLAIMED, [parentId]),
  ];
  const running = (claimed?.rows ?? []).map((row) => text(row['run_id']));
  const wished = { ...parent, cancel_requested: true };
  // A document that nobody has looked at is taken to hold credentials.
  return { running, ended: yield* endIfLast(dialect, wished, true) };
}
