/**
 * A move of rows that SQLite fetches itself, killed at any moment inside a page, leaves whole
 * batches, and the next one repairs what a keyed table lacks.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from 'vitest';

const LAUNCHER = join(import.meta.dirname, '../../../bin/headgate.js');
const ROWS = 200_000;
const FIRST_PAGE = 1000;
const MOST_ATTEMPTS = 5;

const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-killed-'));
afterAll(() => rmSync(folder, { recursive: true }));

function start(name: string, mode: string) {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(
    path,
    `version: 1
name: ${name}
pipeline:
  source: { type: sqlite, config: { database_url: ${join(folder, 'a.db')}, query: SELECT * FROM t, batch_size: ${FIRST_PAGE} } }
  sink: { type: sqlite, config: { database_url: ${join(folder, `${name}.db`)}, table_name: t, column_mapping: auto_map${mode} } }
`,
  );
  const child = spawn(process.execPath, [LAUNCHER, 'run', path], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => (said += text.toString()));
  return { child, ended: once(child, 'close').then(() => said) };
}

test.each([
  ['appended', ''],
  ['keyed', ', write_mode: upsert, key: [id]'],
])('%s rows', async (name, mode) => {
  const table = 'CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, amount REAL)';
  const origin = new DatabaseSync(join(folder, 'a.db'));
  origin.exec(`DROP TABLE IF EXISTS t; ${table};
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
      INSERT INTO t SELECT i * 7, 'name ' || i, i * 0.25 FROM n`);
  origin.close();
  const target = new DatabaseSync(join(folder, `${name}.db`));
  target.exec(`PRAGMA journal_mode = WAL; ${table}`);
  const count = target.prepare('SELECT count(*) AS n, max(id) AS last FROM t');

  const killOnce = async (): Promise<{ n: number; last: number }> => {
    target.exec('DELETE FROM t');
    const { child, ended } = start(name, mode);
    while (child.exitCode === null && Number(count.get()?.['n']) <= FIRST_PAGE)
      await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGKILL');
    await ended;
    return count.get() as { n: number; last: number };
  };
  let { n, last } = await killOnce();
  // A busy machine may look too late.
  for (let attempts = 1; n === ROWS && attempts < MOST_ATTEMPTS; attempts += 1)
    ({ n, last } = await killOnce());
  // The rows of the first batches, and not one beside them.
  expect(n).toBeGreaterThan(FIRST_PAGE);
  expect(n).toBeLessThan(ROWS);
  expect(last).toBe(n * 7);
  expect(target.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });

  if (mode === '') target.exec('DELETE FROM t');
  expect(await start(name, mode).ended).toContain('bytes:sqlite_rows');
  target.exec(`ATTACH '${join(folder, 'a.db')}' AS a`);
  expect(
    target.prepare('SELECT count(*) AS n FROM (SELECT * FROM a.t EXCEPT SELECT * FROM t)').get(),
  ).toEqual({ n: 0 });
  expect(count.get()).toEqual({ n: ROWS, last: ROWS * 7 });
  target.close();
});
