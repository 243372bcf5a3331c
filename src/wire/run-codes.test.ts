import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { RUN_CODES } from './run-codes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const sources = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] }).map((path) =>
  readFileSync(join(ROOT, path), 'utf8'),
);

/** The codes that stand in the sources as text. */
function thrown(): string[] {
  const found = new Set<string>();
  for (const text of sources) {
    for (const [, code] of text.matchAll(/new RunError\(\s*[\w.']+,\s*'([a-z_\d]+)'/g))
      found.add(code as string);
    for (const [, kind] of text.matchAll(/new ConnectorError\(\s*'([a-z_\d]+)'/g))
      found.add(`connector_${kind}`);
    for (const [, why] of text.matchAll(/new StopReason\(\s*'([a-z_]+)'/g))
      found.add(`stopped_${why}`);
  }
  return [...found].sort();
}

it('every code that a run can fail with stands in the list', () => {
  const codes = thrown();
  expect(codes.length).toBeGreaterThan(40);
  expect(codes.filter((code) => !Object.hasOwn(RUN_CODES, code))).toEqual([]);
});

it('the reference has cause and cure of each', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8');
  for (const [code, { cause, cure }] of Object.entries(RUN_CODES))
    expect(page).toContain(`| \`${code}\` | ${cause} | ${cure} |`);
});
