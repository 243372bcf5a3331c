/** Links of the pages that people read lead somewhere: to a file, and to a heading in it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const FOLDERS = ['.', 'docs', 'deploy', 'data', 'examples', 'src/connectors'];

const pages = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => join(ROOT, folder, name)),
);

it('every relative link leads to a file, and its anchor to a heading', () => {
  const dead = pages.flatMap((page) =>
    linksOf(readFileSync(page, 'utf8'))
      .filter((link) => !leadsSomewhere(page, link))
      .map((link) => `${relative(ROOT, page)}: ${link}`),
  );
  expect(pages.length).toBeGreaterThan(100);
  expect(dead).toEqual([]);
});

it('a link to a file or a heading that is not there is seen', () => {
  const page = join(ROOT, 'README.md');
  expect(leadsSomewhere(page, 'docs/guide/README.md#1-five-lines')).toBe(true);
  expect(leadsSomewhere(page, 'docs/guide/README.md#six-lines')).toBe(false);
  expect(leadsSomewhere(page, 'docs/nowhere.md')).toBe(false);
});

/** Of the text outside of code. */
function linksOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
}

function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  );
}
