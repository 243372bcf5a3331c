import { messageOf } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import { HistoryError, type History } from '../history.ts';
import { MIGRATIONS } from '../sql/migrations/index.ts';
import { postgresAddress } from './address.ts';
import { isPassing } from './presence.ts';
import { PostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
import { migratePostgres } from './tables.ts';
import { SqlHistory } from '../sql/sql-history.ts';

const ATTEMPTS = 8;
const WAITS: BackoffPolicy = { backoff: 'exponential', baseMs: 100, maxMs: 1000, jitter: false };

/** A database that does not answer is tried again for a while. Rejects with `HistoryError`. */
export async function openPostgresHistory(
  where: string,
  env: Pick<Env, 'clock' | 'log'>,
  options: Omit<PostgresStoreOptions, 'schema'> = {},
): Promise<History> {
  const { url, schema } = postgresAddress(where);
  const store = await PostgresStore.open(url, { ...options, schema });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await migratePostgres(store, MIGRATIONS, { schema, now: env.clock.now() });
      return new SqlHistory(store);
    } catch (error) {
      const cause = error instanceof HistoryError ? error.cause : error;
      if (attempt === ATTEMPTS || cause === undefined || !isPassing(cause)) {
        await store.close();
        throw error;
      }
      env.log.at('headgate::history').warn('the history database cannot be reached; trying again', {
        attempt,
        error: messageOf(error),
      });
      await env.clock.sleep(backoffMs(WAITS, attempt - 1));
    }
  }
}
