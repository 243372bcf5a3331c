import { HistoryError } from '../../history.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The only one that it changes; all when absent. */
  readonly database?: 'sqlite' | 'postgres';
  /** One or more statements. */
  readonly sql: string;
}

/** For SQLite and PostgreSQL. */
export const LEDGER =
  'CREATE TABLE IF NOT EXISTS svc_serve_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)';

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
