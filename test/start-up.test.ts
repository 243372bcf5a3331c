/** What keeps a start short. Counted, not timed: nobody's load can hide it, or make it fail. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';

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
    const describe = vi.spyOn(z.globalRegistry, 'add');
    await import('../src/parts.ts');
    await import('../src/blocks/index.ts');
    await import('../src/cli/commands/index.ts');
    const fields = describe.mock.calls.map(([, meta]) => meta?.description);
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
