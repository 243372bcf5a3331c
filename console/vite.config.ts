import { join } from 'node:path';
import type { UserConfig } from 'vite';

/**
 * The console as static files: `index.html`, and below `assets` everything else, under names that
 * change with their content. `npx vite console` serves it while it is written, and passes what
 * belongs to the server on to `HEADGATE_SERVER`.
 */
export function consoleBuild(outDir: string): UserConfig {
  const server = process.env['HEADGATE_SERVER'] ?? 'http://127.0.0.1:8080';
  return {
    root: import.meta.dirname,
    logLevel: 'warn',
    // The icon is one of the files that the server has in any case.
    publicDir: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // What is inlined as `data:` would need an exception in the policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
    server: {
      proxy: Object.fromEntries(
        ['/v1', '/healthz', '/readyz', '/metrics', '/assets/icon.svg'].map((path) => [
          path,
          server,
        ]),
      ),
    },
  };
}

// oxlint-disable-next-line import/no-default-export -- Vite asks for one.
export default consoleBuild(join(import.meta.dirname, '../dist/console'));
