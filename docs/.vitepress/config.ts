/** The site of these pages: `npm run site` writes it to `site/`. A dead link fails the build. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { defineConfig, type MarkdownRenderer } from 'vitepress';
import { sidebar } from './sidebar.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Folders whose pages are not for the site. */
const NO_PAGES = ['src', 'test', 'bench', 'changelog.d', 'console', 'examples', 'dist', 'site'];

export default defineConfig({
  title: 'Headgate',
  description:
    'Moves data under control: one document says what moves, how it is checked, and what is promised.',
  lang: 'en',
  // Pages link to each other across the whole repository, and read the same there.
  srcDir: '..',
  srcExclude: NO_PAGES.map((folder) => `${folder}/**`),
  outDir: '../site',
  cacheDir: '../node_modules/.cache/site',
  rewrites: { 'README.md': 'index.md', ':folder(.*)/README.md': ':folder/index.md' },
  lastUpdated: false,
  markdown: { config: unlinkFiles },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/docs/guide/' },
      { text: 'How to', link: '/docs/how-to/load-a-folder' },
      { text: 'Reference', link: '/docs/reference/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: sidebar(ROOT),
    outline: [2, 3],
    search: { provider: 'local' },
    footer: { message: 'Apache-2.0' },
  },
});

/** What the repository has and the site has not, such as the examples, is named without a link. */
function unlinkFiles(md: MarkdownRenderer): void {
  md.core.ruler.push('files-of-the-repository', ({ tokens, env }) => {
    for (const { children } of tokens) {
      for (const [at, token] of (children ?? []).entries()) {
        const target = token.type === 'link_open' ? token.attrGet('href') : null;
        if (target === null || isPage(target, (env as { path: string }).path)) continue;
        const end = children?.slice(at).find(({ type }) => type === 'link_close');
        token.tag = 'span';
        token.attrs = null;
        if (end !== undefined) end.tag = 'span';
      }
    }
  });
}

function isPage(target: string, page: string): boolean {
  if (/^(?:[a-z]+:|#)/.test(target)) return true;
  const path = join(dirname(page), decodeURI(target.split('#')[0] ?? ''));
  // The build says so itself.
  if (!existsSync(path)) return true;
  if (NO_PAGES.includes(relative(ROOT, path).split('/')[0] ?? '')) return false;
  return statSync(path).isDirectory() ? existsSync(join(path, 'README.md')) : path.endsWith('.md');
}
