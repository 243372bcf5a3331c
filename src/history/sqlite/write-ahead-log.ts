/**
 * Syncs the write-ahead log of a SQLite database without blocking the event loop, as SQLite itself
 * would do inside `COMMIT`. What a sync of
 * the file brings to the disk is what SQLite would have synced: it syncs the head of the log, and
 * log and database around a checkpoint, by itself (`synchronous = NORMAL`).
 */
import { close, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { Checkpointer, type Hold } from './checkpointer.ts';

export interface WriteAheadLog {
  /** Resolves when every commit before this call is on the disk. Rejects when the disk refuses. */
  sync(): Promise<void>;
  /**
   * To be called after a commit: now and then the log is brought into the database. `hold` keeps
   * further commits back meanwhile.
   */
  committed(hold: Hold): void;
  close(): Promise<void>;
}

const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

/**
 * For a database without such a log (in memory, or where the file system cannot have one), a commit
 * is as durable as it will be.
 */
const NONE: WriteAheadLog = {
  sync: () => Promise.resolve(),
  committed: () => {},
  close: () => Promise.resolve(),
};

export function writeAheadLogOf(db: DatabaseSync): WriteAheadLog {
  const database = db.location();
  if (database === null || db.prepare('PRAGMA journal_mode').get()?.['journal_mode'] !== 'wal')
    return NONE;
  db.exec('PRAGMA synchronous = NORMAL');
  const checkpointer = new Checkpointer(db, database);
  let file: number | undefined;
  return {
    async sync() {
      // SQLite makes the file with the first commit, and keeps it until the database is closed.
      file ??= openSync(`${database}-wal`, 'r+');
      await syncFile(file);
    },
    committed: (hold) => checkpointer.committed(hold),
    async close() {
      await checkpointer.close();
      if (file !== undefined) await closeFile(file);
      file = undefined;
    },
  };
}
