import { DatabaseSync } from 'node:sqlite';

/** So much stays in memory; the rest goes to disk. */
const CACHE_KIB = 8192;

/**
 * A private database for what does not fit into memory. It has no name, so the system deletes its
 * file when it is closed and when the process dies. Everything is one open transaction, because
 * nothing is rolled back and commits cost time.
 */
export function openTemporaryDatabase(schema: string): DatabaseSync {
  const db = new DatabaseSync('');
  db.exec(
    `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}; ${schema}; BEGIN`,
  );
  return db;
}
