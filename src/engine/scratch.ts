import { DatabaseSync } from 'node:sqlite';

/** Kept in memory before anything is written; the rest is on disk. */
const CACHE_KIB = 8192;

/**
 * A private database for what does not fit into memory. It has no name: the system takes the file
 * back when it is closed, and also when the process dies. One transaction that never ends: nothing
 * is ever undone, and every commit would cost.
 */
export function openScratch(schema: string): DatabaseSync {
  const db = new DatabaseSync('');
  db.exec(
    `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}; ${schema}; BEGIN`,
  );
  return db;
}
