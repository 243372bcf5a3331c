/** SQLite access for all parts: parses addresses, converts errors, keeps transactions short. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { constants, DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { filesRoot, permittedFile } from '../files/file-access.ts';
import { makeFolderSync } from '../files/make-folder.ts';

export interface SqliteAddress {
  /** A path as written, or `:memory:`. */
  readonly path: string;
  /** `ro` read only, `rw` must exist, `rwc` made when missing. */
  readonly mode: 'ro' | 'rw' | 'rwc' | undefined;
}

/** The path of a database without a file. */
export const MEMORY = ':memory:';

/**
 * Reads `a.db`, `sqlite:a.db`, `sqlite://./a.db`, `sqlite:/abs`, `sqlite::memory:`, each with
 * `?mode=ro|rw|rwc|memory`; or says what is wrong.
 */
export function parseSqliteUrl(url: string): SqliteAddress | { readonly error: string } {
  const bare = url.replace(/^sqlite:(\/\/)?/, '');
  const cut = bare.indexOf('?');
  const path = cut === -1 ? bare : bare.slice(0, cut);
  const parameters = new URLSearchParams(cut === -1 ? '' : bare.slice(cut + 1));
  let mode: string | undefined;
  for (const [name, value] of parameters) {
    if (name !== 'mode')
      return { error: `\`${name}\` is not an option of a SQLite address; only \`mode\` is` };
    mode = value;
  }
  if (mode === 'memory') return { path: MEMORY, mode: undefined };
  if (path === '') return { error: 'the address names no file' };
  if (mode !== undefined && mode !== 'ro' && mode !== 'rw' && mode !== 'rwc') {
    return { error: `\`mode=${mode}\` is not one of ro, rw, rwc, memory` };
  }
  return { path, mode };
}

/** Whether the address names a database file that is there. */
export function isSqliteThere(url: string, cwd: string): boolean {
  const address = parseSqliteUrl(url);
  return !('error' in address) && address.path !== MEMORY && existsSync(resolve(cwd, address.path));
}

export interface OpenSqlite {
  /** Used when the address has no mode. */
  readonly mode: 'ro' | 'rw' | 'rwc';
  /** Relative paths are relative to this folder. */
  readonly cwd: string;
  readonly busyTimeoutMs?: number;
}

/** Opens a database. Throws `ConnectorError`. */
export function openSqlite(url: string, options: OpenSqlite): DatabaseSync {
  const address = parseSqliteUrl(url);
  if ('error' in address) throw new ConnectorError('data', address.error);
  const inMemory = address.path === MEMORY;
  const mode = address.mode ?? options.mode;
  const path = inMemory ? MEMORY : permittedFile(resolve(options.cwd, address.path));
  if (!inMemory && mode !== 'rwc' && !existsSync(path)) {
    throw new ConnectorError(
      'missing',
      `connection failed: there is no database file ${address.path}`,
      {
        hint: 'check the path, or add `?mode=rwc` to create it',
      },
    );
  }
  if (mode === 'rwc' && !inMemory) makeFolderOf(path, address.path);
  try {
    const db = new DatabaseSync(path, {
      readOnly: mode === 'ro' && !inMemory,
      timeout: options.busyTimeoutMs ?? 5000,
    });
    if (filesRoot() !== undefined) confine(db);
    return db;
  } catch (error) {
    throw sqliteError(error, 'connection failed');
  }
}

/** Statements of documents can open further files: those, too, lie where files may lie. */
function confine(db: DatabaseSync): void {
  db.setAuthorizer((action, file) => {
    if (action !== constants.SQLITE_ATTACH || isPermitted(file)) return constants.SQLITE_OK;
    return constants.SQLITE_DENY;
  });
}

/** A name that a statement computes is not known yet. */
function isPermitted(name: string | null): boolean {
  if (name === '' || name === MEMORY) return true;
  if (name === null) return false;
  try {
    permittedFile(name.startsWith('file:') ? fileURLToPath(new URL(name)) : resolve(name));
    return true;
  } catch {
    return false;
  }
}

/** Where the database may be created, its folder may be created too, as for all file sinks. */
function makeFolderOf(path: string, written: string): void {
  try {
    makeFolderSync(dirname(path));
  } catch (error) {
    throw new ConnectorError(
      'connection',
      `connection failed: the folder of ${written} cannot be made`,
      {
        hint: 'check the path and the rights on the folders above it',
        cause: error,
      },
    );
  }
}

const KINDS: Readonly<Record<number, ConnectorErrorKind>> = {
  3: 'refused',
  5: 'timeout',
  6: 'timeout',
  8: 'refused',
  10: 'connection',
  13: 'refused',
  14: 'connection',
  23: 'refused',
};

const LOCKED = 'end the program that holds the lock of the file, or wait until it is done';

const HINTS: Readonly<Record<number, string>> = {
  5: LOCKED,
  6: LOCKED,
  8: 'give the user that runs Headgate the right to write the file and its folder',
  10: 'check that the path names a database file, and the disk it lies on',
  13: 'make room on the disk, or use another place',
  14: 'check the path and the rights on the file and its folder',
  26: 'check the path: the file is no SQLite database, or it is encrypted',
};

const BY_TEXT: readonly (readonly [RegExp, string])[] = [
  [
    /syntax error|incomplete input|unrecognized token/,
    'correct the statement at the word that is named',
  ],
  [
    /^no such table/,
    'check the name of the table, and that the path is that of the right database',
  ],
  [/^no such column/, 'check the name of the column; a text stands in single quotes'],
  [/^no such function/, 'use a function that SQLite has, or compute it in a transform'],
  [/^NOT NULL constraint/, 'give the field a value (`coalesce`, `set`), or the column a default'],
  [
    /^UNIQUE constraint/,
    'write with `write_mode: upsert` and a `key`, or remove the row that has the key',
  ],
  [/^FOREIGN KEY constraint/, 'write the rows that others refer to first'],
];

/** Turns an error of SQLite into a `ConnectorError`; our own errors pass unchanged. */
export function sqliteError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const code = errorCode(error);
  const text = messageOf(error);
  const kind =
    code === 1 && /^no such (table|column)/.test(text) ? 'missing' : (KINDS[code] ?? 'data');
  const hint = sqliteHint(error);
  return new ConnectorError(kind, `${doing}: ${text}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** What to do about an error of SQLite; that of one of our errors is its own. */
export function sqliteHint(error: unknown): string | undefined {
  if (error instanceof ConnectorError) return error.hint;
  const text = messageOf(error);
  return HINTS[errorCode(error)] ?? BY_TEXT.find(([pattern]) => pattern.test(text))?.[1];
}

/** Whether another connection holds a lock that SQLite did not wait for (any longer). */
export function isBusy(error: unknown): boolean {
  return [5, 6].includes(errorCode(error));
}

function errorCode(error: unknown): number {
  const code =
    typeof error === 'object' && error !== null && 'errcode' in error ? error.errcode : undefined;
  // The low byte is the primary result code; the rest refines it.
  return typeof code === 'number' ? code & 0xff : 0;
}

/** Runs `work` in one transaction that takes the write lock at once; rolls back when it throws. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Undoes an open transaction, also when SQLite already did so itself. */
export function rollBack(db: DatabaseSync): void {
  if (db.isTransaction) db.exec('ROLLBACK');
}
