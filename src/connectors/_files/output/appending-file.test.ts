import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OpenFile } from '../../../lib/files/open-file.ts';
import { AppendingFile } from './appending-file.ts';

const PART = Buffer.alloc(10 * 1024 * 1024, 'a line of text\n');

let folder: string;
const files = OpenFile.prototype;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'appending-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const opened = (path: string): Promise<AppendingFile> =>
  AppendingFile.open({ path, codec: 'none', truncate: true });

describe('a file that grows', () => {
  it('goes to the disk while it is written, and whole when it is flushed', async () => {
    const steps: string[] = [];
    for (const name of ['datasync', 'sync'] as const) {
      const real = files[name];
      vi.spyOn(files, name).mockImplementation(async function (this: OpenFile) {
        steps.push(`${name} begins`);
        await real.call(this);
        steps.push(`${name} ends`);
      });
    }
    const path = join(folder, 'large.txt');
    const file = await opened(path);
    for (let part = 0; part < 2; part += 1) await file.write(PART);
    expect(steps[0]).toBe('datasync begins');
    await file.flush();
    expect(steps.slice(0, 3)).toEqual(['datasync begins', 'datasync ends', 'sync begins']);
    await file.close();
    expect((await readFile(path)).equals(Buffer.concat([PART, PART]))).toBe(true);
  });

  it('is never durable again once the disk has failed to take a part of it', async () => {
    const failure = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
    vi.spyOn(files, 'datasync').mockRejectedValueOnce(failure);
    const file = await opened(join(folder, 'lost.txt'));
    for (let part = 0; part < 4; part += 1) await file.write(PART);
    await expect(file.flush()).rejects.toThrow('cannot write');
    await expect(file.flush()).rejects.toThrow('EIO');
    await file.close();
  });

  it('is left to the system when it is temporary', async () => {
    const asked = [vi.spyOn(files, 'datasync'), vi.spyOn(files, 'sync')];
    const file = await AppendingFile.open({
      path: join(folder, 'temporary'),
      codec: 'none',
      truncate: true,
      temporary: true,
    });
    for (let part = 0; part < 2; part += 1) await file.write(PART);
    await file.flush();
    await file.close();
    expect(asked.flatMap((one) => one.mock.calls)).toEqual([]);
  });

  it('may be closed while the disk takes a part of it', async () => {
    const file = await opened(join(folder, 'left.txt'));
    for (let part = 0; part < 2; part += 1) await file.write(PART);
    await expect(file.close()).resolves.toBeUndefined();
  });
});
