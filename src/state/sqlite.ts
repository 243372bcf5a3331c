import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { ConnectorError } from '../lib/errors.ts';
import { parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { openSqlite, parseSqliteUrl, sqliteError } from '../lib/sql/sqlite.ts';
import { quoteName } from '../lib/sql/sql-name.ts';
import { finding, text } from '../kit/schema.ts';
import { defineStateStore, type StateStore } from '../kit/state-store.ts';
import { tableName } from './table-name.ts';

const config = z.lazy(() =>
  z.strictObject({
    database_url: text()
      .superRefine((url, ctx) => {
        const address = parseSqliteUrl(url);
        if ('error' in address) ctx.addIssue(finding('invalid_value', address.error));
        else if (address.path === ':memory:') {
          const message = 'a database in memory keeps nothing; this store is meant to last';
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
    const db = openSqlite(database_url, { mode: 'rwc', cwd: context.env.cwd });
    const name = quoteName(table);
    try {
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      db.exec(
        `CREATE TABLE IF NOT EXISTS ${name} (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at TEXT NOT NULL) WITHOUT ROWID`,
      );
      return openTable(db, name);
    } catch (error) {
      db.close();
      throw sqliteError(error, 'the state table cannot be made');
    }
  },
});

function openTable(db: DatabaseSync, table: string): StateStore {
  const select = db.prepare(`SELECT value FROM ${table} WHERE key = ?`);
  const upsert = db.prepare(
    `INSERT INTO ${table} (key, value, updated_at) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  );
  const remove = db.prepare(`DELETE FROM ${table} WHERE key = ?`);
  return {
    get: async (key) =>
      readValue(
        key,
        attempt('the state cannot be read', () => select.get(key)),
      ),
    put: async (key, value) =>
      void attempt('the state cannot be written', () => upsert.run(key, stringifyJson(value))),
    delete: async (key) => void attempt('the state cannot be deleted', () => remove.run(key)),
    close: async () => {
      if (db.isOpen) db.close();
    },
  };
}

function attempt<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, doing);
  }
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
