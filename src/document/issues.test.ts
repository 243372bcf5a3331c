import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ISSUES } from './issues.ts';

const SRC = resolve(import.meta.dirname, '..');
const FOLDERS = ['document', 'plan', 'kit', 'connectors', 'credentials', 'state', 'transforms', 'engine'];
/** The code with which `!include` travels inside the parser; it leaves as another one. */
const INTERNAL = new Set(['include_tag']);

function sources(folder: string): string[] {
  const files = readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(SRC, folder, name), 'utf8'));
}

/** The ways in which a code is written down. */
const PATTERNS = [
  /\bcode: '([a-z_0-9]+)',\s*(?:path|message)/g,
  /\bpath[^}\n]*\bcode: '([a-z_0-9]+)'/g,
  /(?:issues\.error|issues\.warn|this\.#report|\bfinding|fileRefusal)\(\s*'([a-z_0-9]+)'/g,
  /textFault\([^']*'([a-z_0-9]+)'/g,
  /\['([a-z_0-9]+)', 'it is filled/g,
];

test('every code that is used stands in the catalogue, and every code of the catalogue is used', () => {
  const used = new Set<string>();
  for (const source of FOLDERS.flatMap(sources)) {
    for (const match of PATTERNS.flatMap((pattern) => [...source.matchAll(pattern)])) {
      if (match[1] !== undefined && !INTERNAL.has(match[1])) used.add(match[1]);
    }
  }
  expect([...used].sort()).toEqual(Object.keys(ISSUES).sort());
});
