import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { filesOfFolder } from './folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-origin-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a file that cannot be used says why, and the others are read', async () => {
  writeFileSync(join(folder, 'good.yaml'), 'name: good\n');
  writeFileSync(join(folder, 'bytes.json'), Buffer.from([0xff, 0xfe]));
  writeFileSync(join(folder, 'large.yaml'), `name: large\n# ${'x'.repeat(11_000_000)}\n`);
  writeFileSync(join(folder, 'noted.yaml'), 'name: noted\n');
  writeFileSync(join(folder, 'noted.svc.yaml'), Buffer.from([0xff]));
  expect(await filesOfFolder(folder, AbortSignal.timeout(10_000))).toEqual([
    { name: 'bytes.json', fault: 'the file is UTF-16' },
    { name: 'good.yaml', text: { body: 'name: good\n', format: 'yaml' }, sidecar: undefined },
    { name: 'large.yaml', fault: expect.stringContaining('is larger than') as string },
    { name: 'noted.yaml', fault: 'the file beside it: line 1 is not UTF-8 text' },
  ]);
});

test('a folder that is not there is told in plain words', async () => {
  const missing = join(folder, 'missing');
  await expect(filesOfFolder(missing, AbortSignal.timeout(10_000))).rejects.toThrow(
    `the folder ${missing} cannot be read: it does not exist`,
  );
});
