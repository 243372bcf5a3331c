import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ISSUES } from './issues.ts';

const SRC = resolve(import.meta.dirname, '../..');
const FOLDERS = [
  'blocks',
  'document',
  'plan',
  'kit',
  'packages',
  'connectors',
  'credentials',
  'state',
  'transforms',
  'engine',
];

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
  /(?:issues\.error|issues\.warn|this\.#report|this\.#reportParam|\bfaulty|\bfinding)\(\s*'([a-z_0-9]+)'/g,
  /\{ code: '([a-z_0-9]+)', name[ ,]/g,
  /textFault\([^']*'([a-z_0-9]+)'/g,
  /\['([a-z_0-9]+)', 'it is filled/g,
  /\bNAME_NOT_PUBLIC = \[\s*'([a-z_0-9]+)',/g,
];
/** Only here; elsewhere a function of this name takes other things first. */
const IN_DOCUMENT = /\breport\(\s*'([a-z_0-9]+)'/g;

test('every code that is used stands in the catalogue, and every code of the catalogue is used', () => {
  const used = new Set<string>();
  const matches = [
    ...FOLDERS.flatMap(sources).flatMap((source) =>
      PATTERNS.flatMap((pattern) => [...source.matchAll(pattern)]),
    ),
    ...sources('document').flatMap((source) => [...source.matchAll(IN_DOCUMENT)]),
    // What a document may read of the environment is decided below `document`.
    ...readFileSync(join(SRC, 'lib/access.ts'), 'utf8').matchAll(/\bcode: '([a-z_0-9]+)'/g),
  ];
  for (const [, code] of matches) if (code !== undefined) used.add(code);
  expect([...used].sort()).toEqual(Object.keys(ISSUES).sort());
});
