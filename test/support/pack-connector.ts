/**
 * Makes a package of a connector of ours, as somebody else would publish it: it is written with
 * `headgate/kit` and nothing else of the program. What is not in the kit fails when it is loaded.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { KIT_VERSION } from '../../src/kit/connector.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** What the kit offers, by the files of this repository. The rest becomes part of the package. */
const OF_KIT =
  /^src\/(?:kit\/.*|lib\/(?:errors|files\/(?:file-access|written-file)|text\/(?:json|number-spelling)))\.ts$/;

const kitOnly: Plugin = {
  name: 'kit-only',
  setup: (building) => {
    const kit = { path: 'headgate/kit', external: true };
    building.onResolve({ filter: /^zod$/ }, () => kit);
    building.onResolve({ filter: /^\..*\.ts$/ }, ({ resolveDir, path }) =>
      OF_KIT.test(relative(ROOT, resolve(resolveDir, path))) ? kit : undefined,
    );
  },
};

export interface PackedConnector {
  /** Name of the package. */
  readonly name: string;
  /** The connector of ours: the name of its folder, and what its definitions are called. */
  readonly folder: string;
  readonly source: string;
  readonly sink: string;
}

/** Puts it into `node_modules` of the project, with the fixtures that we try it with. */
export async function packConnector(
  project: string,
  { name, folder, source, sink }: PackedConnector,
): Promise<void> {
  const target = join(project, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  const manifest = {
    name,
    version: '1.0.0',
    type: 'module',
    exports: { '.': './index.js', './conformance': './conformance.js' },
  };
  writeFileSync(join(target, 'package.json'), JSON.stringify(manifest));
  await bundle(
    join(target, 'index.js'),
    `import { defineConnector } from 'headgate/kit';
     import { ${source} as source, ${sink} as sink } from './src/connectors/${folder}/index.ts';
     export const connector = defineConnector({ kit: ${KIT_VERSION}, source, sink });`,
  );
  await bundle(
    join(target, 'conformance.js'),
    `export { fixtures as sourceFixtures } from './test/conformance/fixtures/sources/${folder}.ts';
     export { fixtures as sinkFixtures } from './test/conformance/fixtures/sinks/${folder}.ts';`,
  );
}

async function bundle(outfile: string, contents: string): Promise<void> {
  await build({
    stdin: { contents, resolveDir: ROOT, loader: 'ts' },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    packages: 'external',
    external: ['headgate/kit'],
    plugins: [kitOnly],
    logLevel: 'warning',
  });
}
