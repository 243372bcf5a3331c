/** A fast path is declared once, stands beside a plain twin, and earns what its line says. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { MOVES } from '../bench/moves/index.ts';
import { FAST_PATHS, LEAST_GAIN } from '../src/fast/fast-paths.ts';

const ROOT = resolve(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8');

test.each([...FAST_PATHS])('$name is chosen where it says, for a move that exists', (path) => {
  expect(readFileSync(join(ROOT, 'src', path.chosenIn), 'utf8')).toContain('.isOn()');
  expect(MOVES.map(({ name }) => name)).toContain(path.move);
});

test.each([...FAST_PATHS])('$name has a line in docs/performance.md, and earns enough', (path) => {
  const [, gain] = new RegExp(`\\| \`${path.name}\` .*\\| +([\\d.]+) × `).exec(page) ?? [];
  expect(Number(gain)).toBeGreaterThanOrEqual(LEAST_GAIN);
});
