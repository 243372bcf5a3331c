import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { lockFile } from './file-lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-lock-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileAt(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, '');
  return path;
}

const isFree = async (path: string): Promise<boolean> => {
  await using lock = await lockFile(path, 'test');
  return lock !== undefined;
};

const HOLDER = `
  import { lockFile } from ${JSON.stringify(join(import.meta.dirname, 'file-lock.ts'))};
  const lock = await lockFile(process.argv[2], 'test');
  process.send(lock !== undefined);
  process.on('message', () => lock[Symbol.asyncDispose]().then(() => process.disconnect()));
`;

async function holder(path: string): Promise<ChildProcess> {
  const program = join(folder, 'holder.mjs');
  writeFileSync(program, HOLDER);
  const child = fork(program, [path]);
  expect(await once(child, 'message')).toEqual([true, undefined]);
  return child;
}

test('one at a time has a file, for each purpose, and the lock leaves nothing behind', async () => {
  const path = fileAt('alone');
  const lock = await lockFile(path, 'test');
  expect(await isFree(path)).toBe(false);
  await using other = await lockFile(path, 'other purpose');
  expect(other).toBeDefined();
  await lock?.[Symbol.asyncDispose]();
  expect(await isFree(path)).toBe(true);
  expect(existsSync(join(folder, '.alone.test.lock'))).toBe(false);
});

test('two names of a file have one lock', async () => {
  const path = fileAt('target');
  symlinkSync(path, join(folder, 'link'));
  await using lock = await lockFile(path, 'test');
  expect(lock).toBeDefined();
  expect(await isFree(join(folder, 'link'))).toBe(false);
});

test('another process has it until it gives it back, also while it is frozen', async () => {
  const path = fileAt('shared');
  const child = await holder(path);
  expect(await isFree(path)).toBe(false);
  child.kill('SIGSTOP');
  expect(await isFree(path)).toBe(false);
  child.kill('SIGCONT');
  child.send('release');
  await once(child, 'exit');
  expect(await isFree(path)).toBe(true);
});

test('that of a process that was killed ends with it', async () => {
  const path = fileAt('killed');
  const child = await holder(path);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(readdirSync(folder)).toContain('.killed.test.lock');
  expect(await isFree(path)).toBe(true);
  expect(readdirSync(folder)).not.toContain('.killed.test.lock');
});
