import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { ISSUES } from '../document/parse/issues.ts';
import { COMMAND_CODES, cureOfAny } from './command-codes.ts';
import { RUN_CODES } from './run-codes.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The codes that stand in the sources as text. */
function thrown(): string[] {
  const found = new Set<string>();
  for (const path of globSync('src/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] })) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    for (const [, code] of text.matchAll(/new (?:App|Refused)Error\(\s*'([a-z_\d]+)'/g))
      found.add(code as string);
  }
  return [...found].sort();
}

it('every code that a command can end with stands in one of the lists', () => {
  const codes = thrown();
  expect(codes.length).toBeGreaterThan(30);
  const known = { ...ISSUES, ...RUN_CODES, ...COMMAND_CODES };
  expect(codes.filter((code) => !Object.hasOwn(known, code))).toEqual([]);
});

it('the reference has cause and cure of each', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8');
  for (const [code, { cause, cure }] of Object.entries({ ...ISSUES, ...COMMAND_CODES }))
    expect(page).toContain(`| \`${code}\` | ${cause} | ${cure} |`);
});

it('the cure of a code is found in either list', () => {
  expect(cureOfAny('no_document')).toBe(COMMAND_CODES.no_document.cure);
  expect(cureOfAny('connector_auth')).toBe(RUN_CODES.connector_auth.cure);
  expect(cureOfAny('toString')).toBeUndefined();
});
