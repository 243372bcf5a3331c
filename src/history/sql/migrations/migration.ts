import { HistoryError } from '../../history.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The only one that it changes; all when absent. */
  readonly database?: 'sqlite' | 'postgres';
  /**
   * It only adds what builds that do not know it can live with: they may go on, and start, beside
   * those that do. So it is not in the ledger in which they look for the version of the tables.
   */
  readonly isAddition?: true;
  /** One or more statements. */
  readonly sql: string;
}

/** For SQLite and PostgreSQL. */
export const LEDGERS = ['svc_serve_migrations', 'svc_serve_additions']
  .map(
    (table) =>
      `CREATE TABLE IF NOT EXISTS ${table} (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL);`,
  )
  .join('\n');

export const VERSION = 'SELECT COALESCE(MAX(version), 0) AS version FROM svc_serve_migrations';
export const ADDITIONS = 'SELECT version FROM svc_serve_additions';

export const ledgerOf = ({ isAddition }: Migration): string =>
  isAddition === true ? 'svc_serve_additions' : 'svc_serve_migrations';

export interface Applied {
  /** Of the tables, without additions. */
  readonly version: number;
  /** Versions of the additions that were made. */
  readonly additions: readonly number[];
}

/** Throws `HistoryError` where a newer build has changed the tables. */
export function pendingOf(
  migrations: readonly Migration[],
  { version: current, additions }: Applied,
): readonly Migration[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (current > newest) {
    throw new HistoryError(
      `the history database has tables of a newer version (${current}; this build knows ${newest})`,
      { hint: 'use the build that made it, or another database' },
    );
  }
  return migrations.filter(({ version, isAddition }) =>
    isAddition === true ? !additions.includes(version) : version > current,
  );
}
