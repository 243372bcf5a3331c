import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { OpenFile } from './open-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-open-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('an open file', () => {
  it('goes on where it stopped, and knows how long it is', async () => {
    const path = join(folder, 'written');
    const out = await OpenFile.open(path, 'w');
    expect(await out.write(Buffer.from('abcdef'), 2)).toBe(4);
    expect(await out.write(Buffer.from('gh'))).toBe(2);
    await out.truncate(5);
    await Promise.all([out.sync(), out.datasync()]);
    expect(out.stat().size).toBe(5);
    await out.close();
    const file = await OpenFile.open(path, 'r');
    const buffer = Buffer.alloc(3);
    expect([await file.read(buffer), buffer.toString()]).toEqual([3, 'cde']);
    expect(await file.read(buffer)).toBe(2);
    expect(await file.read(buffer)).toBe(0);
    file.closeNow();
  });

  it('tells what the system says', async () => {
    await expect(OpenFile.open(join(folder, 'missing'), 'r')).rejects.toMatchObject({
      code: 'ENOENT',
    });
    const path = join(folder, 'read-only');
    writeFileSync(path, 'x');
    const file = await OpenFile.open(path, 'r');
    await expect(file.write(Buffer.from('y'))).rejects.toMatchObject({ code: 'EBADF' });
    file.closeNow();
    expect(() => OpenFile.openNow(join(folder, 'missing'))).toThrow('ENOENT');
  });

  it('is closed once, and takes nothing afterwards', async () => {
    const file = await OpenFile.open(join(folder, 'closed'), 'w');
    file.closeNow();
    file.closeNow();
    await file.close();
    await expect(file.write(Buffer.from('x'))).rejects.toThrow('the file is closed');
  });

  it.runIf(process.platform !== 'win32')(
    'is closed after what is under way: its number is nobody else’s before',
    async () => {
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      const [reader, writer] = await Promise.all([
        OpenFile.open(path, 'r'),
        OpenFile.open(path, 'w'),
      ]);
      const buffer = Buffer.alloc(10);
      const reading = reader.read(buffer);
      await reader.close();
      const others = await Promise.all(
        [1, 2, 3].map((name) => OpenFile.open(join(folder, `other-${name}`), 'w')),
      );
      await writer.write(Buffer.from('hello'));
      expect(buffer.toString('utf8', 0, await reading)).toBe('hello');
      for (const other of others) {
        await other.write(Buffer.from('mine'));
        await other.close();
      }
      expect(readFileSync(join(folder, 'other-1'), 'utf8')).toBe('mine');
      await writer.close();
    },
  );
});
