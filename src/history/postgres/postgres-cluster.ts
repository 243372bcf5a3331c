/** The queue that several servers share. */
import type { ClientBase } from 'pg';
import {
  MOST_CLAIMED,
  type ClaimedRun,
  type ClaimRequest,
  type ClusterStore,
  type DoneSoFar,
  type Heartbeat,
  type Member,
  type Reclaimed,
  type ReclaimRequest,
} from '../cluster.ts';
import type { Instance, RunFence } from '../history.ts';
import { instanceOf, text, throughputColumn } from '../sql/rows.ts';
import type { SqlResult, SqlScript, SqlStatement, SqlValue } from '../sql/sql-store.ts';
import * as statements from './claim-statements.ts';
import { claimedRuns } from './claimed-runs.ts';
import { queryAll } from './connection.ts';
import { Listener } from './listener.ts';
import { PostgresShards } from './postgres-shards.ts';
import type { PostgresStore } from './postgres-store.ts';

/** An instance that worked alone and was not seen for so long has gone. */
const SILENT_MS = 60_000;
/** A run that nobody has claimed by then may have been announced to servers that are gone. */
const WAITING_MS = 500;

export class PostgresCluster implements ClusterStore {
  readonly #store: PostgresStore;
  readonly #listener: Listener;
  readonly shards: PostgresShards;

  constructor(store: PostgresStore, connect: () => Promise<ClientBase & { end(): Promise<void> }>) {
    this.#store = store;
    this.#listener = new Listener(connect);
    this.shards = new PostgresShards(store);
  }

  claimRuns(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    const limit = Math.min(request.limit, MOST_CLAIMED);
    const claim = returning(statements.CLAIM, statements.claimValues({ ...request, limit }));
    const script = function* (): SqlScript<readonly ClaimedRun[]> {
      return claimedRuns(yield [claim]);
    };
    return this.#store.change(script, { touches: ['claims'], isDecisive: true });
  }

  claimQueued(
    runId: string,
    { owner, leaseMs }: Pick<ClaimRequest, 'owner' | 'leaseMs'>,
  ): Promise<ClaimedRun | undefined> {
    const claim = returning(statements.CLAIM_ONE, [owner, leaseMs, runId]);
    const script = function* (): SqlScript<ClaimedRun | undefined> {
      return claimedRuns(yield [claim])[0];
    };
    return this.#store.change(script, { touches: [runId], isDecisive: true });
  }

  async releaseRun({ run_id, owner, attempt }: RunFence, done: DoneSoFar): Promise<boolean> {
    const values = [done.records_written, throughputColumn(done), run_id, owner, attempt];
    const release = { sql: statements.RELEASE, values };
    const options = { touches: [run_id], isDecisive: true };
    return (await this.#store.write([release], options))[0] === 1;
  }

  beat(self: Instance, leaseMs: number): Promise<Heartbeat> {
    return this.#store.change(() => heartbeat(self, leaseMs), { touches: ['beat'] });
  }

  async beatAside(self: Instance, leaseMs: number, waitMs: number): Promise<Heartbeat> {
    const { instance_id, in_flight } = self;
    const asked = [
      returning(statements.RENEW_FREE, [instance_id, leaseMs, instance_id]),
      { sql: statements.BEAT_FREE, values: [instance_id, in_flight, leaseMs] },
      ...LOOKS,
    ];
    const [held, , ...looks] = await this.#store.askAside(
      (client) => queryAll(client, asked),
      waitMs,
    );
    return heartbeatOf(held, looks);
  }

  async expire(instanceId: string): Promise<void> {
    const remove = 'DELETE FROM svc_serve_instances WHERE instance_id = ?';
    await this.#store.write([
      { sql: statements.EXPIRE, values: [instanceId] },
      { sql: remove, values: [instanceId] },
    ]);
  }

  reclaim({ maxAttempts, error }: ReclaimRequest): Promise<Reclaimed> {
    const reclaim = returning(statements.RECLAIM, [maxAttempts, error]);
    const script = function* (): SqlScript<Reclaimed> {
      const [found] = yield [reclaim];
      const rows = found?.rows ?? [];
      const idsOf = (status: string, isShard: boolean): string[] =>
        rows
          .filter((row) => row['status'] === status && (row['parent_id'] !== null) === isShard)
          .map((row) => text(row['run_id']));
      return {
        requeued: idsOf('queued', false),
        failed: idsOf('failed', false),
        shards: { requeued: idsOf('queued', true), failed: idsOf('failed', true) },
      };
    };
    return this.#store.change(script);
  }

  adoptWaiting(): Promise<readonly string[]> {
    const adopt = returning(statements.ADOPT_WAITING, []);
    const script = function* (): SqlScript<readonly string[]> {
      const [adopted] = yield [adopt];
      return (adopted?.rows ?? []).map((row) => text(row['run_id']));
    };
    return this.#store.change(script);
  }

  async members(): Promise<readonly Member[]> {
    const rows = await this.#store.read(statements.MEMBERS, [-SILENT_MS]);
    return rows.map((row) => ({
      ...instanceOf(row),
      // The client reads truth values as such.
      isAlive: (row['is_alive'] as unknown) === true,
      isClustered: row['clustered'] === 1,
    }));
  }

  async announce(news: string): Promise<void> {
    await this.#store.read(statements.ANNOUNCE, [news]);
  }

  listen(hear: (news: string) => void, signal: AbortSignal): Promise<void> {
    return this.#listener.listen(hear, signal);
  }
}

function returning(sql: string, values: readonly SqlValue[]): SqlStatement {
  return { sql, values, returns: true };
}

/** What a heartbeat asks beside. */
const LOOKS = [returning(statements.ALIVE, []), returning(statements.IS_WAITING, [-WAITING_MS])];

function* heartbeat(self: Instance, leaseMs: number): SqlScript<Heartbeat> {
  const { instance_id, host, pid, pid_started, listen, started_at } = self;
  const { max_concurrent, in_flight } = self;
  const where = [instance_id, host, pid, pid_started, listen, started_at];
  const [, renewed, ...looks] = yield [
    { sql: statements.BEAT, values: [...where, max_concurrent, in_flight, leaseMs] },
    returning(statements.RENEW, [leaseMs, instance_id]),
    ...LOOKS,
  ];
  return heartbeatOf(renewed, looks);
}

function heartbeatOf(
  held: SqlResult | undefined,
  [alive, waiting]: readonly SqlResult[],
): Heartbeat {
  return {
    leases: (held?.rows ?? []).map((row) => ({
      run_id: text(row['run_id']),
      attempt: Number(row['attempt']),
      cancel_requested: row['cancel_requested'] === 1,
      isExtended: row['is_extended'] === 1,
    })),
    // This one lives, whatever keeps it from saying so.
    instances: Math.max(1, Number(alive?.rows[0]?.['instances'] ?? 0)),
    isWaiting: (waiting?.rows[0]?.['is_waiting'] as unknown) === true,
  };
}
