/** The bundle that is published: Node does not strip types below `node_modules`, a checkout needs no build. */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
const outdir = join(ROOT, 'dist');

rmSync(outdir, { recursive: true, force: true });
await build({
  entryPoints: [join(ROOT, 'src/main.ts'), join(ROOT, 'src/worker.ts')],
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  packages: 'external',
  sourcemap: 'linked',
  logLevel: 'info',
});
