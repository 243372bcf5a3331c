/** What keeps a start short. Counted, not timed: nobody's load can hide it, or make it fail. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { standIn } from '../scripts/bundle/stand-in.js';
import { launcherPath } from './servers/bundle.ts';

const LAUNCHER = resolve(import.meta.dirname, '../bin/headgate.js');
const PATIENCE_MS = 120_000;

/** Writes down which packages a process asked for. */
const RECORDER = `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const packages = new Set();
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1];
    if (name !== undefined) packages.add(name);
    return found;
  },
});
process.on('exit', () => writeFileSync('packages.txt', [...packages].sort().join(' ')));
`;

const DOCUMENT = `
version: 1
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

test(
  'loading parts, blocks and commands builds no schema: a run builds those its document needs',
  async () => {
    const describing = vi.spyOn(z.globalRegistry, 'add');
    await import('../src/parts.ts');
    await import('../src/blocks/index.ts');
    await import('../src/cli/commands/index.ts');
    const fields = describing.mock.calls.map(([, meta]) => meta?.description);
    expect(fields, 'put these schemas behind `z.lazy(() => …)`').toEqual([]);
  },
  PATIENCE_MS,
);

test(
  'a run from file to file loads no library but those that read the command line and the document',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-start-up-'));
    try {
      writeFileSync(join(folder, 'recorder.mjs'), RECORDER);
      writeFileSync(join(folder, 'd.yaml'), DOCUMENT);
      writeFileSync(join(folder, 'in.csv'), 'id\n1\n');
      const env = { ...process.env, HEADGATE_SOURCES: '1' };
      execFileSync(
        process.execPath,
        ['--import', './recorder.mjs', LAUNCHER, 'run', 'd.yaml', '--quiet'],
        { cwd: folder, env },
      );
      expect(readFileSync(join(folder, 'out.jsonl'), 'utf8')).toBe('{"id":"1"}\n');
      expect(readFileSync(join(folder, 'packages.txt'), 'utf8').split(' ')).toEqual([
        'commander',
        'js-yaml',
        'uuid',
        'zod',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  PATIENCE_MS,
);

/** Writes down which files of the bundle a process ran. */
const FILE_RECORDER = `
const vm = require('node:vm');
const files = [];
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    files.push(require('node:path').basename(options.filename));
  }
};
process.on('exit', () => require('node:fs').writeFileSync('files.txt', files.join(' ')));
`;

describe('the bundle', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-start-up-'));
    writeFileSync(join(folder, 'recorder.cjs'), FILE_RECORDER);
    writeFileSync(join(folder, 'in.csv'), 'id\n1\n');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function filesOf(document: string): Promise<readonly string[]> {
    writeFileSync(join(folder, 'd.yaml'), document);
    execFileSync(
      process.execPath,
      ['-r', './recorder.cjs', await launcherPath(), 'run', 'd.yaml', '--quiet'],
      { cwd: folder },
    );
    return readFileSync(join(folder, 'files.txt'), 'utf8').split(' ');
  }

  test(
    'a run from file to file loads what it needs as one file',
    async () => {
      const files = await filesOf(DOCUMENT);
      expect(readFileSync(join(folder, 'out.jsonl'), 'utf8')).toBe('{"id":"1"}\n');
      expect(files.toSorted()).toEqual([
        'definition-cli-commands-run.cjs',
        'definition-connectors-csv.cjs',
        'definition-connectors-jsonl.cjs',
        'program-main.cjs',
        'shared-rolldown-runtime.cjs',
        'shared-start.cjs',
      ]);
    },
    PATIENCE_MS,
  );

  test(
    'a run loads the parts that its document names, and no others',
    async () => {
      const files = await filesOf(
        DOCUMENT.replace(
          /sink: .*/,
          "sink: { type: sqlite, config: { database_url: 'sqlite:x.db?mode=rwc', table_name: t, column_mapping: auto_map } }",
        ),
      );
      expect(files.filter((file) => file.startsWith('definition-')).toSorted()).toEqual([
        'definition-cli-commands-run.cjs',
        'definition-connectors-csv.cjs',
        'definition-connectors-sqlite.cjs',
      ]);
    },
    PATIENCE_MS,
  );

  test('what stands in for a definition has all of its members, and asks for it only then', () => {
    const definition = Object.freeze({
      role: 'sink',
      type: 'jsonl',
      open: () => 'opened',
      config: { path: 'x' },
    });
    const load = vi.fn(() => definition);
    const { role, type } = definition;
    const sink = standIn<typeof definition & { aliases?: string[] }>({ role, type }, load);
    expect([sink.type, sink.aliases, 'aliases' in sink]).toEqual(['jsonl', undefined, false]);
    expect(load).not.toHaveBeenCalled();
    expect([sink.open(), sink.config, 'open' in sink]).toEqual(['opened', { path: 'x' }, true]);
    expect({ ...sink }).toEqual(definition);
    expect(Object.keys(sink)).toEqual(Object.keys(definition));
    expect(() => Object.assign(sink, { type: 'csv' })).toThrow(TypeError);
  });
});
