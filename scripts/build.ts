/** The bundle that is published: Node does not strip types below `node_modules`, a checkout needs no build. */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
const outdir = join(ROOT, 'dist');

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
  '@duckdb/*',
  '@noble/*',
  'jsonpath-rfc9535',
  'strftime',
  'yaml',
];

rmSync(outdir, { recursive: true, force: true });
await build({
  entryPoints: [join(ROOT, 'src/main.ts'), join(ROOT, 'src/worker.ts'), join(ROOT, 'src/crash-attempt.ts')],
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
  logLevel: 'info',
});
