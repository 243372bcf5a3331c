/**
 * House rules that are a test: layers, cycles, sizes, names, dependencies. The table is the one of
 * ARCHITECTURE.md.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

/**
 * Which folders a folder may import besides itself. `*` stands for each member on its own: members
 * never import each other.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  kit: ['lib'],
  wire: ['lib'],
  fast: ['kit', 'lib'],
  channels: ['kit', 'lib'],
  triggers: ['kit', 'lib'],
  connectors: ['fast', 'kit', 'lib'],
  transforms: ['kit', 'lib'],
  state: ['kit', 'lib'],
  secrets: ['kit', 'lib'],
  // Finds and loads connectors of packages.
  packages: ['kit', 'lib'],
  credentials: ['kit', 'lib'],
  document: ['kit', 'lib'],
  // What connectors are held to, by the tests and by a command.
  conformance: ['kit', 'lib'],
  history: ['wire', 'lib'],
  blocks: ['channels', 'document', 'kit', 'lib'],
  plan: ['blocks', 'document', 'kit', 'lib'],
  engine: ['fast', 'plan', 'blocks', 'document', 'credentials', 'kit', 'wire', 'lib'],
  runs: ['engine', 'plan', 'blocks', 'document', 'history', 'wire', 'kit', 'lib'],
  features: [
    'runs',
    'engine',
    'plan',
    'blocks',
    'channels',
    'document',
    'history',
    'wire',
    'kit',
    'lib',
  ],
  // Tools for agents stand on features, and are offered by server and command line alike.
  mcp: [
    'features',
    'runs',
    'engine',
    'plan',
    'blocks',
    'document',
    'history',
    'wire',
    'kit',
    'lib',
  ],
  // What an editor asks of documents; nothing runs.
  lsp: ['features', 'engine', 'plan', 'blocks', 'document', 'kit', 'lib'],
  server: [
    'mcp',
    'features',
    'runs',
    'engine',
    'plan',
    'blocks',
    'document',
    'history',
    'wire',
    'kit',
    'lib',
  ],
  // Is used without the rest: what it needs to know is generated from the API description.
  client: [],
  cli: [
    'client',
    'conformance',
    'packages',
    'lsp',
    'mcp',
    'features',
    'triggers',
    'runs',
    'engine',
    'plan',
    'blocks',
    'document',
    'history',
    'wire',
    'kit',
    'lib',
  ],
};
/**
 * Blocks say what the plan makes of them, in its words: they know its types, and no more of it.
 */
const MAY_IMPORT_TYPES: Readonly<Record<string, readonly string[]>> = { blocks: ['plan'] };
const TOP_FILES_MAY_IMPORT_ALL = [
  'main.ts',
  'parts.ts',
  'serve.ts',
  'serve-triggers.ts',
  'serve-schedules.ts',
  'serve-defaults.ts',
  'worker.ts',
  'worker-jobs.ts',
  'crash-attempt.ts',
  'conformance-writer.ts',
  'stage-thread.ts',
];
const BANNED_NAMES = /(^|[-.])(utils?|helpers?|common|base|manager|misc)(\.|-|$)/;
const LONGEST_SOURCE = 500;
const LONGEST_TEST = 800;

const files = walk(SRC).filter((path) => path.endsWith('.ts'));
const imports = new Map(
  files.map((path) => [path, importsOf(path).filter((target) => !isKnownByType(path, target))]),
);

describe('the tree', () => {
  it('imports only down the layers', () => {
    expect(files.filter((path) => !isTest(path)).flatMap((path) => strayImports(path))).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(findCycle()).toBeUndefined();
  });

  it('keeps files short', () => {
    const long = files
      .filter((path) => !path.includes('/generated/'))
      .map((path) => ({
        path: relative(ROOT, path),
        lines: readFileSync(path, 'utf8').split('\n').length,
        limit: isTest(path) ? LONGEST_TEST : LONGEST_SOURCE,
      }))
      .filter(({ lines, limit }) => lines > limit);
    expect(long).toEqual([]);
  });

  it('names files after what they hold', () => {
    const names = files.map((path) => relative(ROOT, path));
    expect(names.filter((name) => BANNED_NAMES.test(name.split('/').at(-1) ?? ''))).toEqual([]);
    expect(names.filter((name) => !/^[a-z0-9_.\-/]+$/.test(name))).toEqual([]);
  });

  it('has no default exports, enums, namespaces or casts to any', () => {
    const offenders = files.filter((path) =>
      /^export default |^(export )?(const )?enum |^(export )?namespace |\bas any\b/m.test(
        readFileSync(path, 'utf8'),
      ),
    );
    expect(offenders.map((path) => relative(ROOT, path))).toEqual([]);
  });

  it('leaves no work notes behind', () => {
    const offenders = files.filter((path) =>
      /\b(TODO|FIXME|XXX|HACK)\b/.test(readFileSync(path, 'utf8')),
    );
    expect(offenders.map((path) => relative(ROOT, path))).toEqual([]);
  });
});

describe('the tests', () => {
  it('wait with `eventually`, long enough for a busy machine', () => {
    const impatient = walk(SRC)
      .concat(walk(join(ROOT, 'test')))
      .filter((path) => /\bvi\.wait(?:For|Until)\(/.test(readFileSync(path, 'utf8')))
      .map((path) => relative(ROOT, path));
    expect(impatient).toEqual(['test/support/eventually.ts']);
  });

  it('of `npm test` replace no modules: their files share a process, and would share these', () => {
    const replacing = walk(SRC)
      .concat(walk(join(ROOT, 'test')))
      .filter((path) => path.endsWith('.test.ts') && !/\.(long|integration)\.test\.ts$/.test(path))
      .filter((path) => /\bvi\.(?:mock|doMock|resetModules)\(/.test(readFileSync(path, 'utf8')))
      .map((path) => relative(ROOT, path));
    expect(replacing).toEqual([]);
  });
});

describe('the console', () => {
  const views = walk(join(ROOT, 'console/src'));
  const textOf = (path: string): string => readFileSync(path, 'utf8');

  it('knows nothing of the server but its client', () => {
    const strangers = views.flatMap((path) =>
      [...textOf(path).matchAll(/(?:from|import\() ?'(\.[^']+)'/g)]
        .map(([, target = '']) => resolve(dirname(path), target))
        .filter((target) => target.startsWith(SRC) && target !== join(SRC, 'client/index.ts'))
        .map((target) => `${relative(ROOT, path)} imports ${relative(ROOT, target)}`),
    );
    expect(strangers).toEqual([]);
  });

  it('keeps files short, and names them after what they hold', () => {
    const names = views.map((path) => relative(ROOT, path));
    expect(views.filter((path) => textOf(path).split('\n').length > LONGEST_SOURCE)).toEqual([]);
    expect(names.filter((name) => BANNED_NAMES.test(name.split('/').at(-1) ?? ''))).toEqual([]);
  });

  it('makes no markup of texts, and leaves no work notes behind', () => {
    const offenders = views.filter((path) =>
      /dangerouslySetInnerHTML|innerHTML|\bas any\b|^export default |\b(TODO|FIXME|XXX|HACK)\b/m.test(
        textOf(path),
      ),
    );
    expect(offenders).toEqual([]);
  });
});

describe('dependencies', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  const described = new Set(
    [
      ...readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8').matchAll(/^\| `([^`]+)` *\|/gm),
    ].map((match) => match[1]),
  );
  const declared = Object.keys({
    ...manifest['dependencies'],
    ...manifest['devDependencies'],
  });

  it('each have a line in docs/dependencies.md, and no other has one', () => {
    expect(described.symmetricDifference(new Set(declared))).toEqual(new Set());
  });

  it('are pinned exactly', () => {
    const versions = Object.entries({
      ...manifest['dependencies'],
      ...manifest['devDependencies'],
    });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+([-.][\w.]+)?$/.test(version))).toEqual(
      [],
    );
  });

  it('that users add themselves are those that the tests run with, and none is installed unasked', () => {
    const { devDependencies = {}, peerDependencies = {} } = manifest;
    for (const [name, version] of Object.entries(peerDependencies))
      expect([name, devDependencies[name]]).toEqual([name, version]);
    const optional = Object.keys(peerDependencies).map((name) => [name, { optional: true }]);
    expect(manifest['peerDependenciesMeta']).toEqual(Object.fromEntries(optional));
  });

  it('of the product are imported by the product', () => {
    const sources = files
      .filter((path) => !isTest(path))
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const product = { ...manifest['dependencies'], ...manifest['peerDependencies'] };
    const unused = Object.keys(product).filter(
      (name) => name !== 'node' && !new RegExp(`['"]${name}(/[^'"]*)?['"]`).test(sources),
    );
    expect(unused).toEqual([]);
  });
});

function strayImports(path: string): string[] {
  const from = room(path);
  if (TOP_FILES_MAY_IMPORT_ALL.includes(relative(SRC, path))) return [];
  return (imports.get(path) ?? [])
    .filter((target) => !isAllowed(from, room(target)))
    .map((target) => `${relative(SRC, path)} imports ${relative(SRC, target)}`);
}

interface Room {
  readonly folder: string;
  /** Member of a folder whose members are strangers to each other. */
  readonly member: string | undefined;
}

function room(path: string): Room {
  const [folder = '', member] = relative(SRC, path).split('/');
  const separate = folder === 'connectors' || folder === 'blocks' || folder === 'features';
  return {
    folder,
    member: separate && member !== undefined && !member.endsWith('.ts') ? member : undefined,
  };
}

function isAllowed(from: Room, to: Room): boolean {
  if (from.folder !== to.folder) return (MAY_IMPORT[from.folder] ?? []).includes(to.folder);
  if (from.member === undefined || from.member === to.member) return true;
  // What all blocks are declared with lies beside them.
  if (from.folder === 'blocks') return to.member === undefined;
  return from.folder === 'connectors' && (to.member?.startsWith('_') ?? false);
}

function isKnownByType(path: string, target: string): boolean {
  const types = MAY_IMPORT_TYPES[room(path).folder] ?? [];
  if (!types.includes(room(target).folder)) return false;
  const lines = readFileSync(path, 'utf8').matchAll(/^import (type )?[^;]*?from '([^']+)';/gm);
  return [...lines].every(
    ([, type, from = '']) => type !== undefined || resolve(dirname(path), from) !== target,
  );
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const found = [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/g,
    ),
  ];
  return found
    .map((match) => resolve(dirname(path), match[1] ?? match[2] ?? ''))
    .filter((target) => target.endsWith('.ts') && target.startsWith(SRC));
}

function findCycle(): string[] | undefined {
  const state = new Map<string, 'open' | 'closed'>();
  const trail: string[] = [];
  const visit = (path: string): string[] | undefined => {
    if (state.get(path) === 'closed') return undefined;
    if (state.get(path) === 'open')
      return [...trail.slice(trail.indexOf(path)), path].map((one) => relative(SRC, one));
    state.set(path, 'open');
    trail.push(path);
    for (const target of imports.get(path) ?? []) {
      const cycle = visit(target);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    state.set(path, 'closed');
    return undefined;
  };
  for (const path of files) {
    const cycle = visit(path);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

function walk(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}
