import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand, testWiring } from '../../test/support/cli.ts';
import { holdsCredentials } from '../features/holds-credentials.ts';
import { partsWith } from '../parts.ts';
import { loadConnector } from './load-connector.ts';

const root = mkdtempSync(join(tmpdir(), 'headgate-packages-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let cwd = '';
let tests = 0;
beforeEach(() => {
  cwd = join(root, String((tests += 1)));
  mkdirSync(cwd);
});

/** A source of three records and a sink that counts, in few words. */
const SMALL = `
import { APPEND_ONLY, defineConnector, defineSink, defineSource, Page, z } from 'headgate/kit';
globalThis.loadedConnectors = [...(globalThis.loadedConnectors ?? []), import.meta.url];
const source = defineSource({
  type: 'three',
  description: 'Three records.',
  config: z.strictObject({
    word: z.string().meta({ description: 'What they say.' }),
    login: z.string().optional().meta({ description: 'Who asks.', secret: true }),
  }),
  examples: [{ word: 'x' }],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: () => 'three://all',
  open: async ({ word }) => ({
    async *pages() {
      yield Page.ofRecords([1, 2, 3].map((id) => ({ id, word })));
    },
    close: async () => {},
  }),
});
const sink = defineSink({
  type: 'three',
  description: 'Counts.',
  config: z.strictObject({}),
  examples: [{}],
  capabilities: () => APPEND_ONLY,
  datasetUri: () => 'three://count',
  open: async () => ({
    write: async (page) => ({ written: page.count, rejected: [] }),
    flush: async () => {},
    finish: async () => {},
    close: async () => {},
  }),
});
`;
const BOTH = `${SMALL}\nexport const connector = defineConnector({ kit: 1, source, sink });`;

function install(name: string, content: string, folder = cwd): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  const manifest = { name, version: '1.0.0', type: 'module', exports: './index.js' };
  writeFileSync(join(target, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(target, 'index.js'), content);
}

interface Types {
  readonly source?: string;
  readonly sink?: string;
  readonly word?: string;
}

function write({ source = 'npm:three', sink = 'jsonl', word = 'word: hi' }: Types = {}): void {
  const to = sink === 'jsonl' ? '{ path: out.jsonl }' : '{}';
  writeFileSync(
    join(cwd, 'd.yaml'),
    `version: 1\npipeline:\n  source:\n    type: '${source}'\n    config: { ${word} }\n  sink: { type: '${sink}', config: ${to} }\n`,
  );
}

async function cli(line: string, variables: Readonly<Record<string, string>> = {}) {
  return runCommand(line.split(' '), { ...testWiring(), parts: partsWith }, { cwd, variables });
}

describe('a document that names a package', () => {
  it('uses its source', async () => {
    install('three', BOTH);
    write();
    const run = await cli('run d.yaml --allow-connector three');
    expect(run.err).toContain('3 records written');
    expect(run.code).toBe(0);
    const lines = readFileSync(join(cwd, 'out.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((one) => JSON.parse(one) as unknown)).toEqual(
      [1, 2, 3].map((id) => ({ id, word: 'hi' })),
    );
  });

  it('uses its sink, and a name with a scope', async () => {
    install('@acme/three', BOTH);
    write({ source: 'npm:@acme/three', sink: 'npm:@acme/three' });
    const run = await cli('run d.yaml', { HEADGATE_ALLOW_CONNECTORS: '@acme/three,other' });
    expect(run.err).toContain('3 records written');
    expect(run.code).toBe(0);
  });

  it('is checked by the schema of the package', async () => {
    install('three', BOTH);
    write({ word: 'wrod: hi' });
    const run = await cli('validate d.yaml --allow-connector three');
    expect(run.code).toBe(1);
    expect(run.err).toContain('d.yaml:5:15  pipeline.source.config.wrod  unknown key `wrod`');
    expect(run.err).toContain('did you mean `word`?');
  });

  it('finds it in the folder where the program was started before all others', async () => {
    const far = join(cwd, 'far');
    mkdirSync(far);
    install('three', BOTH, far);
    const places = [join(cwd, 'package.json'), join(far, 'package.json')];
    expect(loadConnector('three', places)).toMatchObject({ ok: true });
    install('three', 'export const connector = 1;');
    expect(loadConnector('three', places)).toMatchObject({ ok: false });
  });

  it('is refused when its packages were not allowed, with place and what to do', async () => {
    install('three', BOTH);
    write();
    for (const line of ['run d.yaml', 'run d.yaml --allow-connector others']) {
      const run = await cli(line);
      expect(run.code).toBe(1);
      expect(run.err).toContain('d.yaml:4:5  pipeline.source.type  ');
      expect(run.err).toContain('the package `three` may not be used');
      expect(run.err).toContain('`--allow-connector three`');
      expect(run.err).toContain('[connector_not_allowed]');
    }
    expect(Reflect.get(globalThis, 'loadedConnectors') ?? []).not.toContainEqual(
      expect.stringContaining(cwd),
    );
  });
});

it('a package that no document names is not loaded', async () => {
  install('three', BOTH);
  writeFileSync(join(cwd, 'in.jsonl'), '{"a":1}\n');
  write({ source: 'jsonl', word: 'path: in.jsonl' });
  expect(await cli('run d.yaml --allow-connector three')).toMatchObject({ code: 0 });
  expect(Reflect.get(globalThis, 'loadedConnectors') ?? []).not.toContainEqual(
    expect.stringContaining(cwd),
  );
});

it('what was allowed is listed, and its schema is printed', async () => {
  install('three', BOTH);
  expect((await cli('list')).out).not.toContain('npm:three');
  expect((await cli('list --allow-connector three')).out).toMatch(/npm:three +Three records/);
  const { out } = await cli('schema source npm:three --allow-connector three');
  expect(JSON.parse(out)).toMatchObject({ properties: { word: { type: 'string' } } });
  expect((await cli('schema source npm:three')).err).toContain('--allow-connector three');
});

it('credentials in a config of a package are seen', async () => {
  install('three', BOTH);
  const config = (login: string): string =>
    `version: 1\npipeline:\n  source: { type: 'npm:three', config: { word: a${login} } }\n  sink: { type: stdout }\n`;
  const document = { config_format: 'yaml', name: null, base: null } as const;
  const parts = await partsWith(['three'], cwd);
  const holds = (text: string): boolean => holdsCredentials({ ...document, config: text }, parts);
  expect(holds(config(''))).toBe(false);
  expect(holds(config(', login: me'))).toBe(true);
});

describe('a package that cannot be used says why', () => {
  const connector = (text: string): string => `${SMALL}\nexport const connector = ${text};`;
  it.for<[what: string, content: string | undefined, code: string, ...says: string[]]>([
    ['is missing', undefined, 'connector_missing', 'npm install three'],
    ['exports nothing', SMALL, 'connector_unusable', 'exports no `connector`'],
    [
      'is for a newer kit',
      connector('defineConnector({ kit: 2, source })'),
      'connector_kit_version',
      'version 2',
      'update Headgate',
    ],
    [
      'says no kit',
      connector('defineConnector({ source })'),
      'connector_kit_version',
      'version unknown',
    ],
    [
      'has no part',
      connector('defineConnector({ kit: 1 })'),
      'connector_unusable',
      'neither a source nor a sink',
    ],
    [
      'has a part without a member',
      connector('defineConnector({ kit: 1, source: { ...source, open: undefined } })'),
      'connector_unusable',
      'has no `open`',
    ],
    [
      'has a sink where its source belongs',
      connector('defineConnector({ kit: 1, source: sink })'),
      'connector_unusable',
      'its `role` is not `source`',
    ],
    [
      'has another schema library',
      connector('defineConnector({ kit: 1, source: { ...source, config: {} } })'),
      'connector_unusable',
      'no schema',
    ],
    [
      'has only the other part',
      connector('defineConnector({ kit: 1, sink })'),
      'unknown_type',
      'has no source, only a sink',
    ],
    ['fails', 'throw new Error("no luck")', 'connector_unusable', 'no luck'],
    ['is no program', 'export const =', 'connector_unusable', 'cannot be loaded'],
    ['waits', 'await 1;', 'connector_unusable', '`await`'],
    ['lacks a package', `import 'no-such-thing';`, 'connector_unusable', 'no-such-thing'],
    [
      'wants more than the kit has',
      `import { tomorrow } from 'headgate/kit';`,
      'connector_unusable',
      'tomorrow',
      'another version of Headgate',
    ],
  ])('when it %s', async ([, content, code, ...says]) => {
    if (content !== undefined) install('three', content);
    write();
    const run = await cli('validate d.yaml --allow-connector three');
    expect(run.code).toBe(1);
    expect(run.err).toContain('d.yaml:4:5  pipeline.source.type  ');
    expect(run.err).toContain(`[${code}]`);
    for (const text of says) expect(run.err).toContain(text);
  });

  it.for(['../three', './three', 'three/index.js', '/etc/passwd', 'Three', 'fs', ''])(
    'when %j is no name of a package',
    async (name) => {
      install('three', BOTH);
      write({ source: `npm:${name}` });
      const run = await cli(`validate d.yaml --allow-connector three,${name || 'x'}`);
      expect(run.code).toBe(1);
      expect(run.err).toContain('pipeline.source.type');
      expect(run.err).toMatch(/bad_package_name|connector_not_allowed/);
    },
  );
});
