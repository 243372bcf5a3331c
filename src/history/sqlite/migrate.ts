import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from '../../lib/sql/sqlite.ts';
import {
  ADDITIONS,
  ledgerOf,
  LEDGERS,
  pendingOf,
  VERSION,
  type Migration,
} from '../sql/migrations/migration.ts';

/**
 * Brings the tables up to date; several processes may try at once. Refuses a database of a newer
 * version.
 */
export function migrate(db: DatabaseSync, migrations: readonly Migration[], now: Date): void {
  inTransaction(db, () => {
    db.exec(LEDGERS);
    const pending = pendingOf(migrations, {
      version: Number(db.prepare(VERSION).get()?.['version']),
      additions: db
        .prepare(ADDITIONS)
        .all()
        .map(({ version }) => Number(version)),
    });
    for (const migration of pending) {
      if (migration.database !== 'postgres') db.exec(migration.sql);
      db.prepare(
        `INSERT INTO ${ledgerOf(migration)} (version, name, applied_at) VALUES (?, ?, ?)`,
      ).run(migration.version, migration.name, now.toISOString());
    }
  });
}
