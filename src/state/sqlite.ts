import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { ConnectorError } from '../lib/errors.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { retryWhileLocked } from '../lib/sql/lock-retry.ts';
import { openSqlite, parseSqliteUrl, sqliteError } from '../lib/sql/sqlite.ts';
import { quoteName } from '../lib/sql/sql-name.ts';
import { finding, text } from '../kit/schema.ts';
import {
  defineStateStore,
  LEASE_PREFIX,
  NO_LEASE,
  sortedEntries,
  type Lease,
  type StateStore,
} from '../kit/state-store.ts';
import { tableName } from './table-name.ts';

const config = z.lazy(() =>
  z.strictObject({
    database_url: text()
      .superRefine((url, ctx) => {
        const address = parseSqliteUrl(url);
        if ('error' in address) ctx.addIssue(finding('invalid_value', address.error));
        else if (address.path === ':memory:') {
          const message =
            'a database in memory is lost at the end of the process; this store must be durable';
          ctx.addIssue(
            finding('invalid_value', message, { hint: 'name a file, or use `type: memory`' }),
          );
        }
      })
      .meta({
        description: 'Path of the database file, or `sqlite:<path>`; made when missing.',
        examples: ['sqlite:./state.db'],
      }),
    table: tableName(),
  }),
);

export const sqliteState = defineStateStore<z.output<typeof config>>({
  type: 'sqlite',
  description: 'Bookmarks in a table of a SQLite database file.',
  config,
  durable: true,
  examples: [{ database_url: 'sqlite:./state.db' }],
  open: async ({ database_url, table }, context) => {
    const db = openSqlite(database_url, { mode: 'rwc', cwd: context.env.cwd, busyTimeoutMs: 0 });
    const name = quoteName(table);
    try {
      await retryWhileLocked(() => prepareTable(db, name));
      return openTable(db, name);
    } catch (error) {
      db.close();
      throw sqliteError(error, 'the state table cannot be made');
    }
  },
});

function prepareTable(db: DatabaseSync, table: string): void {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(
    `CREATE TABLE IF NOT EXISTS ${table} (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at TEXT NOT NULL) WITHOUT ROWID`,
  );
}

function openTable(db: DatabaseSync, table: string): StateStore {
  const select = db.prepare(`SELECT value FROM ${table} WHERE key = ?`);
  const upsert = db.prepare(
    `INSERT INTO ${table} (key, value, updated_at) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  );
  const upsertHeld = db.prepare(
    `INSERT INTO ${table} (key, value, updated_at) SELECT ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ')
     WHERE EXISTS (SELECT 1 FROM ${table} WHERE key = ? AND value ->> 'token' = ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  );
  const remove = db.prepare(`DELETE FROM ${table} WHERE key = ?`);
  const isHeld = `EXISTS (SELECT 1 FROM ${table} WHERE key = ? AND value ->> 'token' = ?)`;
  const removeHeld = db.prepare(`DELETE FROM ${table} WHERE key = ? AND ${isHeld}`);
  const held = db.prepare(`SELECT 1 WHERE ${isHeld}`);
  const keys = db.prepare(
    `SELECT key, updated_at FROM ${table} WHERE key = ?1 OR substr(key, 1, ?3) = ?2`,
  );
  const leases = leaseStatements(db, table);
  const inOrder = queueOfOne();
  return {
    get: async (key) =>
      readValue(key, await inOrder('the state cannot be read', () => select.get(key))),
    put: async (key, value) => {
      const stored = stringifyJson(value);
      await inOrder('the state cannot be written', () => upsert.run(key, stored));
    },
    putHeld: async (key, value, { lease, token }) => {
      const stored = stringifyJson(value);
      const { changes } = await inOrder('the state cannot be written', () =>
        upsertHeld.run(key, stored, LEASE_PREFIX + lease, token),
      );
      return changes === 1;
    },
    delete: async (key) => {
      await inOrder('the state cannot be deleted', () => remove.run(key));
    },
    deleteHeld: (key, { lease, token }) =>
      inOrder('the state cannot be deleted', () => {
        const by = [LEASE_PREFIX + lease, token] as const;
        // There may have been nothing to delete.
        return removeHeld.run(key, ...by).changes === 1 || held.get(...by) !== undefined;
      }),
    entries: async (key) => {
      const rows = await inOrder('the state cannot be read', () =>
        keys.all(key, `${key}::`, key.length + 2),
      );
      return sortedEntries(
        rows.map(({ key: stored, updated_at: at }) => ({
          key: String(stored),
          at: new Date(String(at)),
        })),
      );
    },
    lease: (key, { token, ttlMs, holder, instead = token, renews }) =>
      inOrder('the state cannot be leased', () => {
        const now = Date.now();
        const value = stringifyJson({ token, holder, ends_ms: now + ttlMs });
        if (renews) leases.renew.run(value, LEASE_PREFIX + key, token);
        else leases.take.run(LEASE_PREFIX + key, value, token, instead, now);
        return leaseIn(leases.look.get(LEASE_PREFIX + key), now);
      }),
    release: async (key, token) => {
      await inOrder('the lease cannot be given back', () =>
        leases.release.run(LEASE_PREFIX + key, token),
      );
    },
    close: async () => {
      await inOrder('the state cannot be closed', () => db.isOpen && db.close());
    },
  };
}

function leaseStatements(db: DatabaseSync, table: string) {
  return {
    take: db.prepare(
      `INSERT INTO ${table} (key, value, updated_at) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
       WHERE value ->> 'token' IN (?, ?) OR value ->> 'ends_ms' <= ?`,
    ),
    renew: db.prepare(
      `UPDATE ${table} SET value = ?, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ') WHERE key = ? AND value ->> 'token' = ?`,
    ),
    look: db.prepare(`SELECT value FROM ${table} WHERE key = ?`),
    release: db.prepare(`DELETE FROM ${table} WHERE key = ? AND value ->> 'token' = ?`),
  };
}

function leaseIn(row: Record<string, unknown> | undefined, now: number): Lease {
  if (row === undefined) return NO_LEASE;
  const found = parseJson(String(row['value'])) as JsonObject;
  return {
    token: found['token'] as string,
    holder: found['holder'] as JsonObject,
    remainingMs: Number(found['ends_ms']) - now,
  };
}

/**
 * One operation at a time: while one waits for a lock, a later write of the same key must not
 * overtake it.
 */
function queueOfOne(): <T>(doing: string, work: () => T) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (doing, work) => {
    const result = last.then(() => retryWhileLocked(work));
    last = result.catch(() => undefined);
    return result.catch((error: unknown) => {
      throw sqliteError(error, doing);
    });
  };
}

function readValue(key: string, row: Record<string, unknown> | undefined): JsonValue | undefined {
  if (row === undefined) return undefined;
  try {
    return parseJson(String(row['value']));
  } catch (error) {
    throw new ConnectorError('data', `the state \`${key}\` is not JSON`, {
      hint: 'repair the row, or delete it to start over',
      cause: error,
    });
  }
}
