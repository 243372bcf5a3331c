import { messageOf } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import type { OpenedHistory } from '../cluster.ts';
import { MIGRATIONS } from '../sql/migrations/index.ts';
import { postgresAddress } from './address.ts';
import { isPassing } from './presence.ts';
import { PostgresCluster } from './postgres-cluster.ts';
import { PostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
import { migratePostgres } from './tables.ts';
import { SqlHistory } from '../sql/sql-history.ts';

const ATTEMPTS = 8;
const WAITS: BackoffPolicy = { backoff: 'exponential', baseMs: 100, maxMs: 1000, jitter: false };

export interface OpenPostgres extends Omit<PostgresStoreOptions, 'schema' | 'setUp'> {
  /** Goes on without a database that does not answer: it is used when it does. */
  readonly mayBeAway?: boolean | undefined;
}

/** A database that does not answer is tried again for a while. Rejects with `HistoryError`. */
export async function openPostgresHistory(
  where: string,
  env: Pick<Env, 'clock' | 'log'>,
  { mayBeAway = false, ...options }: OpenPostgres = {},
): Promise<OpenedHistory> {
  const { url, schema } = postgresAddress(where);
  const log = env.log.at('headgate::history');
  const store = await PostgresStore.open(url, {
    ...options,
    schema,
    setUp: (one) => migratePostgres(one, MIGRATIONS, { schema, now: env.clock.now() }),
  });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await store.ready();
      return historyOf(store);
    } catch (error) {
      const [isAway, isLast] = [isPassing(error), attempt === ATTEMPTS];
      if (isAway && isLast && mayBeAway) {
        log.error('the history database cannot be reached; going on without it until it answers', {
          error: messageOf(error),
        });
        return historyOf(store);
      }
      if (!isAway || isLast) {
        await store.close();
        throw error;
      }
      log.warn('the history database cannot be reached; trying again', {
        attempt,
        error: messageOf(error),
      });
      await env.clock.sleep(backoffMs(WAITS, attempt - 1));
    }
  }
}

function historyOf(store: PostgresStore): OpenedHistory {
  return new SqlHistory(store, new PostgresCluster(store, () => store.connectAlone()));
}
