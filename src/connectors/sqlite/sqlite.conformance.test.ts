import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JsonObject } from '../../lib/text/json.ts';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { sqliteSink, sqliteSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-'));
const path = join(folder, 'source.db');
const records = Array.from({ length: 20 }, (_, index) => ({
  id: index,
  name: `n${index}`,
  score: index + 0.5,
  none: null,
}));
{
  using database = new DatabaseSync(path);
  database.exec('CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, score REAL, none TEXT)');
  for (const { id, name, score } of records)
    database.prepare('INSERT INTO people VALUES (?, ?, ?, NULL)').run(id, name, score);
}

describeSource(sqliteSource, {
  config: () => ({ database_url: `sqlite:${path}`, query: 'SELECT * FROM people ORDER BY id' }),
  records,
  broken: {
    'a missing database': {
      database_url: `sqlite:${join(folder, 'no-such.db')}`,
      query: 'SELECT 1',
    },
    'a missing table': { database_url: `sqlite:${path}`, query: 'SELECT * FROM nothing' },
    'a query that is not SQL': { database_url: `sqlite:${path}`, query: 'SELEKT 1' },
  },
});

let made = 0;
describeSink(sqliteSink, {
  fresh: () => {
    made += 1;
    const file = join(folder, `sink-${made}.db`);
    return Promise.resolve({
      config: {
        database_url: `sqlite:${file}?mode=rwc`,
        table_name: 'rows',
        column_mapping: 'auto_map',
      },
      rows: () => {
        using database = new DatabaseSync(file);
        const exists = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'rows'").get();
        if (exists === undefined) return Promise.resolve(undefined);
        const rows = database.prepare('SELECT * FROM rows').all() as unknown as JsonObject[];
        return Promise.resolve(rows.map((row) => ({ ...row })));
      },
    });
  },
  broken: {
    'a path that cannot be opened': {
      database_url: `sqlite:${join(path, 'x.db')}?mode=rwc`,
      table_name: 'rows',
      column_mapping: 'auto_map',
    },
  },
});
