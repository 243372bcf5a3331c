import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MEMORY, openSqlite } from '../sql/sqlite.ts';
import { beginFileChecks, FileRefusedError, permittedFile, restrictFiles } from './file-access.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'headgate-access-'));
  mkdirSync(join(dir, 'root'));
  writeFileSync(join(dir, 'other.txt'), 'x');
});
afterEach(() => {
  restrictFiles(undefined);
  rmSync(dir, { recursive: true });
});

const refused = (path: string) => expect(() => permittedFile(path), path).toThrow(FileRefusedError);

test('without a restriction every file is open', () => {
  expect(permittedFile('/etc/passwd')).toBe('/etc/passwd');
});

test('a folder bounds everything in and below it, also what does not exist yet', () => {
  restrictFiles({ root: join(dir, 'root'), refused: [] });
  for (const path of ['root', 'root/new', 'root/a/b/c', 'root/../root/x'])
    expect(permittedFile(join(dir, path))).toBe(join(dir, path));
  for (const path of ['', 'other.txt', 'rootless', 'root/../other.txt', 'new/x'])
    refused(join(dir, path));
  refused(`${dir}/root/../other.txt`);
});

test('links are followed, also those that lead nowhere yet, and circles end', () => {
  restrictFiles({ root: join(dir, 'root'), refused: [] });
  symlinkSync(dir, join(dir, 'root/up'));
  symlinkSync('../later.txt', join(dir, 'root/later'));
  symlinkSync('inside.txt', join(dir, 'root/fine'));
  symlinkSync('circle', join(dir, 'root/circle'));
  refused(join(dir, 'root/up/other.txt'));
  refused(join(dir, 'root/up/not/there'));
  refused(join(dir, 'root/later'));
  expect(permittedFile(join(dir, 'root/fine'))).toBeTruthy();
  expect(permittedFile(join(dir, 'root/circle'))).toBeTruthy();
});

test('a job looks a path up once, and the next job looks anew', () => {
  restrictFiles({ root: join(dir, 'root'), refused: [] });
  const path = join(dir, 'root/part');
  beginFileChecks();
  expect(permittedFile(path)).toBe(path);
  symlinkSync(join(dir, 'other.txt'), path);
  expect(permittedFile(path)).toBe(path);
  refused(join(dir, 'root/../other.txt'));
  beginFileChecks();
  refused(path);
  refused(path);
});

test('files of the server and of processes are refused, whatever they are called', () => {
  restrictFiles({ refused: [join(dir, 'other.txt')] });
  symlinkSync(join(dir, 'other.txt'), join(dir, 'alias'));
  refused(join(dir, 'alias'));
  refused('/proc/self/environ');
  refused(`/proc/${process.ppid}/cmdline`);
  expect(permittedFile('/proc/cpuinfo')).toBe('/proc/cpuinfo');
});

test('statements of SQLite open no database outside of the folder', () => {
  restrictFiles({ root: join(dir, 'root'), refused: [] });
  using db = openSqlite(MEMORY, { mode: 'rwc', cwd: dir });
  db.exec(`attach '${dir}/root/fine.db' as fine; attach '' as temporary; vacuum`);
  for (const statement of [
    `attach '${dir}/bad.db' as bad`,
    `attach 'file:${dir}/bad.db?mode=rwc' as bad`,
    `attach '${dir}/root/' || '../bad.db' as bad`,
    `vacuum into '${dir}/bad.db'`,
  ])
    expect(() => db.exec(statement), statement).toThrow(/not authorized|authorization denied/);
});
