import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Env } from '../lib/env.ts';
import { MEMORY, parseSqliteUrl } from '../lib/sql/sqlite.ts';
import { HistoryError } from './history.ts';
import type { CatalogStore } from './catalog.ts';
import { MemoryCatalog } from './memory/memory-catalog.ts';
import { openHistory } from './open.ts';

/** A run ends when its catalog has what it moved, or is known to be locked. */
const RUN_LOCK_WAIT_MS = 10_000;

export interface OpenCatalog {
  readonly store: CatalogStore;
  /** Whether what is recorded survives the process. */
  readonly persistent: boolean;
  readonly close: () => Promise<void>;
}

/**
 * Opens what a `catalog` block names. A SQLite file is one of the server's histories: both may use
 * the same. Rejects with `HistoryError`.
 */
export async function openCatalog(
  url: string,
  env: Pick<Env, 'clock' | 'cwd' | 'log'>,
): Promise<OpenCatalog> {
  if (url === 'memory') return memoryCatalog();
  if (url.startsWith('sqlite:')) {
    const history = await openHistory(url, env, { backgroundLockWaitMs: RUN_LOCK_WAIT_MS });
    return { store: history.catalog, persistent: true, close: () => history.close() };
  }
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    const { PostgresStore } = await import('./postgres/postgres-store.ts');
    const { SqlCatalog } = await import('./sql/sql-catalog.ts');
    const { CATALOG_TABLES } = await import('./sql/migrations/catalog-tables.ts');
    const { makeTables } = await import('./postgres/tables.ts');
    const store = await PostgresStore.open(url);
    await makeTables(store, CATALOG_TABLES).catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    return { store: new SqlCatalog(store), persistent: true, close: () => store.close() };
  }
  throw new HistoryError('the catalog address is of a kind this build does not have', {
    hint: 'accepted forms: `memory`, `sqlite:PATH`, `postgres://…`',
  });
}

/**
 * Opens a catalog for reading only: a file that does not exist is an empty catalog, and is not
 * created.
 */
export async function openCatalogToRead(
  url: string,
  env: Pick<Env, 'clock' | 'cwd' | 'log'>,
): Promise<OpenCatalog> {
  const address = url.startsWith('sqlite:') ? parseSqliteUrl(url) : undefined;
  const isFile = address !== undefined && 'path' in address && address.path !== MEMORY;
  return isFile && !existsSync(resolve(env.cwd, address.path))
    ? { ...memoryCatalog(), persistent: true }
    : openCatalog(url, env);
}

export function memoryCatalog(): OpenCatalog {
  return { store: new MemoryCatalog(), persistent: false, close: () => Promise.resolve() };
}
