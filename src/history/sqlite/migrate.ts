import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from '../../lib/sql/sqlite.ts';
import { LEDGER, pendingOf, type Migration } from '../sql/migrations/migration.ts';

/**
 * Brings the tables up to date; several processes may try at once. Refuses a database of a newer
 * version.
 */
export function migrate(db: DatabaseSync, migrations: readonly Migration[], now: Date): void {
  inTransaction(db, () => {
    db.exec(LEDGER);
    const row = db
      .prepare('SELECT COALESCE(MAX(version), 0) AS version FROM svc_serve_migrations')
      .get();
    const pending = pendingOf(migrations, Number(row?.['version']));
    const note = db.prepare(
      'INSERT INTO svc_serve_migrations (version, name, applied_at) VALUES (?, ?, ?)',
    );
    for (const migration of pending) {
      if (migration.database !== 'postgres') db.exec(migration.sql);
      note.run(migration.version, migration.name, now.toISOString());
    }
  });
}
