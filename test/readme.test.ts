import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** Cells of the rows of tables, without the spaces around them. */
function rowsOf(markdown: string): string[][] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.includes('| ---'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

it('the figures in the README are those of the benchmarks', () => {
  const [, section = ''] = /## Figures\n([^]*?)\n## /.exec(readme) ?? [];
  const [, ...figures] = rowsOf(section);
  const measured = rowsOf(readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8')).map(
    ([move, , figure]) => [move, figure],
  );
  expect(figures.length).toBeGreaterThan(4);
  for (const figure of figures) expect(measured).toContainEqual(figure);
});
