import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from '../../lib/sql/sqlite.ts';
import { HistoryError } from '../history.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** One or more statements. */
  readonly sql: string;
}

/** For SQLite and PostgreSQL. */
export const LEDGER =
  'CREATE TABLE IF NOT EXISTS svc_serve_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)';

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
      db.exec(migration.sql);
      note.run(migration.version, migration.name, now.toISOString());
    }
  });
}

/** Throws `HistoryError` where a newer build has changed the tables. */
export function pendingOf(migrations: readonly Migration[], current: number): readonly Migration[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (current > newest) {
    throw new HistoryError(
      `the history database has tables of a newer version (${current}; this build knows ${newest})`,
      { hint: 'use the build that made it, or another database' },
    );
  }
  return migrations.filter(({ version }) => version > current);
}
