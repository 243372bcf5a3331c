/** The bundle that is published: Node does not strip types below `node_modules`, a checkout needs no build. */
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { noteOfBundle, stateOfSources } from '../bin/bundle.js';

const ROOT = resolve(import.meta.dirname, '..');

/** Libraries that few runs need, or that find files of their own beside them: they stay in `node_modules`. */
const external = [
  'fastify',
  'pg',
  'pg-*',
  'ioredis',
  'undici',
  'prom-client',
  'avsc',
  'ajv',
  'ajv/*',
  're2js',
  'luxon',
  'fflate',
  'fast-xml-parser',
  'hyparquet*',
  'read-excel-file',
  'write-excel-file',
  '@aws-sdk/*',
  '@azure/*',
  '@duckdb/*',
  '@google-cloud/*',
  '@noble/*',
  'jsonpath-rfc9535',
  'strftime',
  'yaml',
];

/** What is started as a program or a thread of its own; `lib/program-file.ts` finds them by these names. */
const PROGRAMS = ['main', 'worker', 'crash-attempt'];

/** Puts the bundle into `dist` below the folder, with word of what it was made of. */
export async function buildBundle(folder: string): Promise<void> {
  const outdir = join(folder, 'dist');
  rmSync(outdir, { recursive: true, force: true });
  const state = stateOfSources(ROOT);
  await build({
    entryPoints: PROGRAMS.map((name) => join(ROOT, `src/${name}.ts`)),
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external,
    // Names stay readable in stack traces; the rest is time to load.
    minifySyntax: true,
    minifyWhitespace: true,
    // CommonJS libraries inside the bundle ask for Node's own modules.
    banner: { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" },
    sourcemap: 'linked',
    logLevel: 'warning',
  });
  // A source that changed meanwhile may or may not be in it.
  if (stateOfSources(ROOT) === state) writeFileSync(noteOfBundle(folder), state);
}

if (import.meta.main) await buildBundle(ROOT);
