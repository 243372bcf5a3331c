import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describeSource } from '../../../test/conformance/source.ts';
import { sqliteSource } from './index.ts';

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
