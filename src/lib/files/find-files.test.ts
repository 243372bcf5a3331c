import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countAlternatives, findFiles } from './find-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-find-'));
beforeAll(() => {
  mkdirSync(join(folder, 'a/b'), { recursive: true });
  for (const name of ['a/1.jsonl', 'a/2.jsonl', 'a/b/3.jsonl', 'a/other.txt'])
    writeFileSync(join(folder, name), '');
  symlinkSync('1.jsonl', join(folder, 'a/link.jsonl'));
  symlinkSync('nowhere', join(folder, 'a/dangling.jsonl'));
  symlinkSync('..', join(folder, 'a/b/up'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const accepts = (): boolean => true;
const found = async (pattern: string): Promise<string[]> =>
  (await findFiles(join(folder, pattern), { accepts })).map((path) => relative(folder, path));

it('finds files in order, also behind links, and passes over links to nowhere', async () => {
  expect(await found('a/*.jsonl')).toEqual(['a/1.jsonl', 'a/2.jsonl', 'a/link.jsonl']);
  expect(await found('**/{2,3}.jsonl')).toEqual(['a/2.jsonl', 'a/b/3.jsonl']);
});

it('refuses a pattern that leads too far', async () => {
  const all = join(folder, '**/*');
  await expect(findFiles(all, { accepts, maxEntries: 3 })).rejects.toMatchObject({
    code: 'bad_config',
    message: 'the pattern is too wide: it leads to more than 3 files and folders',
  });
  await expect(findFiles(all, { accepts, maxFiles: 2 })).rejects.toMatchObject({
    message: 'the pattern is too wide: more than 2 files match it',
  });
  // Expanded, this pattern would keep the process busy for minutes.
  await expect(found(`${'{a,b}'.repeat(16)}/*`)).rejects.toMatchObject({
    code: 'bad_config',
    message: 'the pattern is too wide: its braces stand for more than 64 patterns',
  });
});

it('ends when nobody waits any more', async () => {
  const gone = AbortSignal.abort(new Error('nobody waits'));
  await expect(findFiles(join(folder, '**/*'), { accepts, signal: gone })).rejects.toThrow(
    'nobody waits',
  );
});

it.each([
  ['a/*.jsonl', 1],
  ['{a,b}', 2],
  ['{a,b}{c,d,e}', 6],
  ['{a,{b,c}{d,e}}', 5],
  ['{1..9}{a,b}', 18],
  ['{a..f}', 65_536],
  ['\\{a,b\\}', 1],
  ['{a,b', 2],
])('%s stands for %i patterns at most', (pattern, count) => {
  expect(countAlternatives(pattern)).toBe(count);
});
