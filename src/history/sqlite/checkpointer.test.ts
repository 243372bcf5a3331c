import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Checkpointer } from './checkpointer.ts';
import { openDatabase } from './sqlite-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-checkpointer-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function database(name: string): {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly commit: () => void;
} {
  const db = openDatabase(`sqlite:${name}`, folder);
  db.exec('CREATE TABLE t (text TEXT)');
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  return { db, path: join(folder, name), commit: () => void insert.run('x'.repeat(3000)) };
}

/** How often the log has begun anew: the number of checkpoints in its head. */
function timesAnew(path: string): number {
  return readFileSync(`${path}-wal`).readUInt32BE(12);
}

it('brings the log into the database after some commits, so that the next one begins it anew', async () => {
  const { db, path, commit } = database('busy.db');
  const checkpointer = new Checkpointer(db, path);
  const before = timesAnew(path);
  for (let commits = 0; commits < 100; commits += 1) {
    commit();
    checkpointer.committed(() => {});
  }
  // It is waited for.
  await checkpointer.close();
  expect(timesAnew(path)).toBe(before);
  commit();
  expect(timesAnew(path)).toBe(before + 1);
  expect(db.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 101 });
  db.close();
});

it('leaves it to SQLite when its thread cannot be started', async () => {
  const { db, commit } = database('alone.db');
  const checkpointer = new Checkpointer(db, join(folder, 'no/such/folder.db'));
  for (let commits = 0; commits < 100; commits += 1) {
    commit();
    checkpointer.committed(() => {});
  }
  await checkpointer.close();
  expect(db.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 100 });
  db.close();
});
