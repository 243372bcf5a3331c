import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, makeFolderSync } from './make-folder.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headgate-folder-'));
});
afterEach(() => rmSync(root, { recursive: true }));

describe.each([
  ['makeFolder', makeFolder],
  ['makeFolderSync', async (folder: string) => makeFolderSync(folder)],
])('%s', (_name, make) => {
  it('makes every folder above, and is content with what is there', async () => {
    await make(join(root, 'a/b/c'));
    await make(join(root, 'a/b/c'));
    expect(statSync(join(root, 'a/b/c')).isDirectory()).toBe(true);
  });

  it('makes the same folders for several at once', async () => {
    await Promise.all(['x', 'y', 'z'].map((name) => make(join(root, 'p/q', name))));
    expect(statSync(join(root, 'p/q/z')).isDirectory()).toBe(true);
  });

  it('gives up at a file, and at a link to nowhere', async () => {
    writeFileSync(join(root, 'file'), '');
    symlinkSync(join(root, 'gone/away'), join(root, 'link'));
    await expect(make(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(make(join(root, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(make(join(root, 'link/below'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it.runIf(process.platform === 'linux')('gives up where a folder takes no entries', async () => {
    await expect(make('/proc/headgate/below')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
