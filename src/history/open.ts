import { backoffMs, type BackoffPolicy } from '../lib/time/backoff.ts';
import type { Env } from '../lib/env.ts';
import { ConnectorError } from '../lib/errors.ts';
import { rollBack, sqliteError } from '../lib/sql/sqlite.ts';
import type { OpenedHistory } from './cluster.ts';
import { HistoryError } from './history.ts';
import { MemoryHistory } from './memory/memory-history.ts';
import { openDatabase, SqliteClient } from './sqlite/sqlite-client.ts';
import { migrate } from './sqlite/migrate.ts';
import { isPostgresAddress } from './postgres/address.ts';
import { MIGRATIONS } from './sql/migrations/index.ts';
import { SqlHistory } from './sql/sql-history.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';

const ATTEMPTS = 45;
const WAITS: BackoffPolicy = { backoff: 'exponential', baseMs: 100, maxMs: 1000, jitter: false };

export interface OpenHistory {
  /** How long deferred writes wait for a lock of another process. */
  readonly backgroundLockWaitMs?: number;
  /** A database that cannot be reached now is no error: it is used when it answers. */
  readonly mayBeAway?: boolean;
}

/**
 * Opens what `--history` names; nothing named means memory. A store that is locked is tried again
 * for a while. Throws `HistoryError`.
 */
export async function openHistory(
  url: string | undefined,
  env: Pick<Env, 'clock' | 'cwd' | 'log'>,
  options: OpenHistory = {},
): Promise<OpenedHistory> {
  if (url === undefined || url === 'memory') return new MemoryHistory();
  if (isPostgresAddress(url)) {
    const { openPostgresHistory } = await import('./postgres/open-postgres.ts');
    return openPostgresHistory(url, env, { mayBeAway: options.mayBeAway });
  }
  if (!url.startsWith('sqlite:')) {
    throw new HistoryError('the history address is of a kind this build does not have', {
      hint: 'accepted forms: `memory`, `sqlite:PATH`, `sqlite://PATH`, `postgres://…`',
    });
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return openSqliteHistory(url, env, options);
    } catch (error) {
      if (attempt === ATTEMPTS || !isLocked(error)) throw error;
      env.log
        .at('headgate::history')
        .warn('the history database is locked; trying again', { attempt });
      await env.clock.sleep(backoffMs(WAITS, attempt - 1));
    }
  }
}

function openSqliteHistory(
  url: string,
  env: Pick<Env, 'clock' | 'cwd'>,
  options: OpenHistory,
): OpenedHistory {
  const db = openDatabase(url, env.cwd);
  try {
    migrate(db, MIGRATIONS, env.clock.now());
  } catch (error) {
    rollBack(db);
    db.close();
    if (error instanceof HistoryError) throw error;
    throw new HistoryError(
      `the history database cannot be set up: ${sqliteError(error, 'migrating').message}`,
      { cause: error },
    );
  }
  return new SqlHistory(new SqliteStore(new SqliteClient(db, options)));
}

function isLocked(error: unknown): boolean {
  const cause = error instanceof HistoryError ? error.cause : error;
  return (cause instanceof ConnectorError ? cause : sqliteError(cause, '')).kind === 'timeout';
}
