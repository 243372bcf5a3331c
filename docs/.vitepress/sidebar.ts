import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultTheme } from 'vitepress';

type Item = DefaultTheme.SidebarItem;

/** Pages of the guide in the order in which they are met. Those that are not named come last. */
const GUIDE = [
  'README',
  'first-hour',
  'editors',
  'many-moves',
  'dead-letters',
  'testing',
  'verify',
  'rollback',
  'replication',
  'time',
  'notifications',
  'lineage-and-catalog',
  'serving',
  'remote',
  'templates',
  'triggers',
  'agents',
  'cluster',
  'production',
];

const HOW_TO = [
  'load-a-folder',
  'many-tables',
  'types',
  'encodings',
  'late-rows',
  'deletes',
  'reset-a-bookmark',
];

export function sidebar(root: string): Item[] {
  const pages = (folder: string, first: readonly string[] = []): Item[] =>
    pagesOf(join(root, 'docs', folder), first).map(({ name, title }) => ({
      text: title,
      link: `/docs/${folder}/${name === 'README' ? '' : name}`,
    }));
  const group = (text: string, folder: string): Item => ({
    text,
    collapsed: true,
    items: pages(`reference/${folder}`),
  });
  return [
    { text: 'Guide', items: pages('guide', GUIDE) },
    { text: 'How to', items: pages('how-to', HOW_TO) },
    { text: 'Coming from another tool', items: pages('coming-from') },
    {
      text: 'Reference',
      items: [
        ...pages('reference', ['README', 'cli', 'errors']),
        group('Sources', 'sources'),
        group('Sinks', 'sinks'),
        group('Blocks of a document', 'blocks'),
      ],
    },
    {
      text: 'About',
      items: [
        { text: 'What Headgate is', link: '/' },
        ...['benchmarks', 'performance', 'scaling', 'certification', 'dependencies'].map(
          (name) => ({
            text: titleOf(join(root, `docs/${name}.md`)),
            link: `/docs/${name}`,
          }),
        ),
        { text: 'Architecture', link: '/ARCHITECTURE' },
        { text: 'Contributing', link: '/CONTRIBUTING' },
        { text: 'Changes', link: '/CHANGELOG' },
      ],
    },
  ];
}

interface Page {
  readonly name: string;
  readonly title: string;
}

function pagesOf(folder: string, first: readonly string[]): Page[] {
  if (!existsSync(folder)) return [];
  const place = (name: string): number =>
    first.includes(name) ? first.indexOf(name) : first.length;
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    .sort((a, b) => place(a) - place(b) || a.localeCompare(b))
    .map((name) => ({ name, title: titleOf(join(folder, `${name}.md`)) }));
}

function titleOf(path: string): string {
  const title = /^# (?:Guide: )?(.*)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? path;
  const plain = title.replaceAll('`', '').replace(/^(?:source|sink) /, '');
  // Names of connectors and blocks are written as in a document.
  return title.includes('`') ? plain : plain.charAt(0).toUpperCase() + plain.slice(1);
}
