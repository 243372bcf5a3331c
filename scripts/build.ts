/** The bundle that is published: Node does not strip types below `node_modules`, a checkout needs no build. */
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
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

/** The schema library brings its messages in fifty languages, half of its size; ours are told in `kit/schema.ts`. */
const oneLanguage: Plugin = {
  name: 'one-language',
  setup: ({ onLoad }) => {
    onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: `export { default as en } from './en.js';` }));
  },
};

/**
 * Puts the bundle into `dist` below the folder, with word of what it was made of: one file a program, in which a module is run when it is
 * first asked for. CommonJS, because a hundred modules that are linked to each other take longer than most documents take to run, and
 * because what is imported of Node is then loaded with the module that uses it.
 */
export async function buildBundle(folder: string): Promise<void> {
  const outdir = join(folder, 'dist');
  rmSync(outdir, { recursive: true, force: true });
  const state = stateOfSources(ROOT);
  await build({
    entryPoints: PROGRAMS.map((name) => join(ROOT, `src/${name}.ts`)),
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    external,
    plugins: [oneLanguage],
    define: { 'import.meta.url': 'urlOfFile', 'import.meta.dirname': '__dirname' },
    banner: { js: "const urlOfFile = require('node:url').pathToFileURL(__filename).href;" },
    // Names stay readable in stack traces; the rest is time to load.
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  });
  // A source that changed meanwhile may or may not be in it.
  if (stateOfSources(ROOT) === state) writeFileSync(noteOfBundle(folder), state);
}

if (import.meta.main) await buildBundle(ROOT);
