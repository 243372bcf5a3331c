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

it('a limited run does not replace a table unless it is told to', async () => {
  const refused = await run('overwrite', '--limit', '2');
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.err).toContain('[limited_overwrite]');
  expect(refused.err).toContain('`--allow-overwrite`');
  expect(ids()).toEqual([7, 8, 9]);
  expect((await run('overwrite', '--limit', '2', '--allow-overwrite')).code).toBe(0);
  expect(ids()).toEqual([1, 2]);
});

it('a program that asked for JSON learns of the refusal in JSON', async () => {
  const { out } = await run('overwrite', '--limit', '2', '--output', 'json');
  expect(JSON.parse(out)).toMatchObject({
    status: 'failed',
    error: { code: 'limited_overwrite' },
  });
});

it('dry runs and sinks that add need no such word', async () => {
  expect((await run('overwrite', '--limit', '2', '--dry-run')).code).toBe(0);
  expect(ids()).toEqual([7, 8, 9]);
  expect((await run('append', '--limit', '2')).code).toBe(0);
  expect(ids()).toEqual([1, 2, 7, 8, 9]);
});
