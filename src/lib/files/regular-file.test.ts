import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appendRegular,
  openRegular,
  openRegularSync,
  readRegular,
  readRegularSync,
} from './regular-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-regular-'));
const path = (name: string): string => join(folder, name);
const socket = createServer();

beforeAll(async () => {
  writeFileSync(path('plain'), 'x'.repeat(100_000));
  symlinkSync(path('plain'), path('link'));
  execFileSync('mkfifo', [path('pipe')]);
  symlinkSync(path('pipe'), path('link-to-pipe'));
  await new Promise<void>((listens) => socket.listen(path('socket'), listens));
});
afterAll(() => {
  socket.close();
  rmSync(folder, { recursive: true });
});

const READERS: readonly [string, (path: string) => Promise<unknown>][] = [
  ['openRegularSync', async (name) => openRegularSync(name)],
  ['readRegularSync', async (name) => readRegularSync(name)],
  ['openRegular', openRegular],
  ['readRegular', (name) => readRegular(name)],
  ['appendRegular', (name) => appendRegular(name, 0o600)],
];

describe.each(READERS)('%s', (_name, read) => {
  // A pipe nobody writes to would keep a plain opening waiting for ever, and the test with it.
  it.each([
    ['pipe', 'a pipe'],
    ['link-to-pipe', 'a pipe'],
    ['socket', 'a socket'],
    ['', 'a folder'],
    ['/dev/zero', 'a device'],
  ])('refuses %s, which is %s', async (name, kind) => {
    await expect(read(name.startsWith('/') ? name : path(name))).rejects.toMatchObject({
      code: 'not_a_regular_file',
      message: `it is ${kind}, not a regular file`,
    });
  });
});

it('reads a file through a link, and no more than it is asked for', async () => {
  expect(readRegularSync(path('link')).length).toBe(100_000);
  expect(readRegularSync(path('link'), 70_000).length).toBe(70_000);
  expect((await readRegular(path('link'))).length).toBe(100_000);
  expect((await readRegular(path('link'), { limitBytes: 70_000 })).length).toBe(70_000);
});

it('reads a file that does not know its size', async () => {
  expect(readRegularSync('/proc/self/status').toString()).toContain('Pid:');
  expect((await readRegular('/proc/self/status')).toString()).toContain('Pid:');
});

it('says what the system says of a file that is missing', async () => {
  expect(() => readRegularSync(path('missing'))).toThrow('ENOENT');
  await expect(readRegular(path('missing'))).rejects.toMatchObject({ code: 'ENOENT' });
});

it('appends, and makes the file when it is missing', async () => {
  for (const text of ['one ', 'two']) {
    const file = await appendRegular(path('new'), 0o600);
    await file.writeFile(text);
    await file.close();
  }
  expect(readFileSync(path('new'), 'utf8')).toBe('one two');
});
