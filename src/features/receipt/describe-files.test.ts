import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeFiles } from './describe-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const { signal } = new AbortController();
const fileAt = (path: string) => ({ path, row: 'row-0', dataset_uri: `file://${path}` });

it('gives size and checksum, and says of the others why not', async () => {
  const [whole, later, large] = ['whole', 'later', 'large'].map((name) => join(folder, name));
  const endedAt = '2026-01-31T08:00:00.000Z';
  for (const [path = '', text, at] of [
    [whole, 'abc', '2026-01-31T07:59:59Z'],
    [later, 'abcd', '2026-01-31T09:00:00Z'],
    [large, 'x'.repeat(100), '2026-01-31T07:00:00Z'],
  ] as const) {
    writeFileSync(path, text);
    utimesSync(path, new Date(at), new Date(at));
  }
  const files = [whole, later, large, join(folder, 'gone'), folder].map((path = '') =>
    fileAt(path),
  );
  const found = await describeFiles(files, { endedAt, mostBytes: 50, signal });
  expect(found.map(({ bytes, sha256, note }) => [bytes, sha256, note])).toEqual([
    [3, hash('sha256', 'abc'), undefined],
    [4, hash('sha256', 'abcd'), 'changed after the run had ended'],
    [100, undefined, 'too large to be read for this'],
    [undefined, undefined, 'it is not there any more'],
    [undefined, undefined, 'it cannot be read: it is a folder, not a regular file'],
  ]);
});
