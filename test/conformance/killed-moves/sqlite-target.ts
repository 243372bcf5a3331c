/** A table of SQLite into which a move that is killed writes, in a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JsonObject } from '../../../src/lib/text/json.ts';

export type Row = Readonly<Record<string, unknown>>;

export interface SqliteTarget extends Disposable {
  readonly folder: string;
  readonly sink: JsonObject;
  rows(): readonly Row[];
}

export function sqliteTarget(columns: string, config: JsonObject): SqliteTarget {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-killed-'));
  const path = join(folder, 'copied.db');
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE copied (${columns})`);
  return {
    folder,
    sink: {
      type: 'sqlite',
      config: { database_url: path, table_name: 'copied', column_mapping: 'auto_map', ...config },
    },
    rows: () => database.prepare('SELECT * FROM copied').all(),
    [Symbol.dispose]() {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}
