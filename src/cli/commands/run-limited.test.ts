import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-limited-'));
  writeFileSync(join(cwd, 'in.jsonl'), '{"id":1}\n{"id":2}\n{"id":3}\n');
  using database = new DatabaseSync(join(cwd, 'out.db'));
  database.exec('CREATE TABLE prices (id INTEGER); INSERT INTO prices VALUES (7), (8), (9)');
});
afterEach(() => rmSync(cwd, { recursive: true }));

function run(writeMode: string, ...args: string[]): Promise<Done> {
  const config = {
    database_url: 'out.db',
    table_name: 'prices',
    column_mapping: 'auto_map',
    write_mode: writeMode,
  };
  const document = {
    version: 1,
    name: 'prices',
    pipeline: {
      source: { type: 'jsonl', config: { path: 'in.jsonl' } },
      sink: { type: 'sqlite', config },
    },
  };
  writeFileSync(join(cwd, 'prices.json'), JSON.stringify(document));
  return runCommand(['run', 'prices.json', '--quiet', ...args], testWiring(parts), { cwd });
}

function ids(): unknown[] {
  using database = new DatabaseSync(join(cwd, 'out.db'));
  return database
    .prepare('SELECT id FROM prices ORDER BY id')
    .all()
    .map(({ id }) => id);
}

it('a limited run says that it replaces a table by few records', async () => {
  const { code, err } = await run('overwrite', '--limit', '2');
  expect(code).toBe(0);
  expect(err).toContain('at most 2 records are left in what `write_mode: overwrite` replaces');
  expect(err).toContain('(sqlite)');
  expect(ids()).toEqual([1, 2]);
});

it.each([
  ['a dry run', 'overwrite', ['--limit', '2', '--dry-run'], [7, 8, 9]],
  ['a sink that adds', 'append', ['--limit', '2'], [1, 2, 7, 8, 9]],
  ['a run of everything', 'overwrite', [], [1, 2, 3]],
])('%s is not warned of', async (_case, writeMode, args, left) => {
  expect(await run(writeMode, ...args)).toMatchObject({ code: 0, err: '' });
  expect(ids()).toEqual(left);
});
