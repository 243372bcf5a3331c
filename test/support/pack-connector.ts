/**
 * Makes a package of a connector of ours, as somebody else would publish it: it is written with
 * `headgate/kit` and nothing else of the program. What is not in the kit fails when it is loaded.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { KIT_VERSION } from '../../src/kit/connector.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** What the kit offers, by the files of this repository. The rest becomes part of the package. */
const OF_KIT =
  /^src\/(?:kit\/.*|lib\/(?:errors|files\/(?:file-access|written-file)|text\/(?:json|number-spelling)))\.ts$/;

const kitOnly: Plugin = {
  name: 'kit-only',
  resolveId(id, importer = '') {
    const isOfKit =
      id === 'zod' ||
      (id.startsWith('.') && OF_KIT.test(relative(ROOT, resolve(dirname(importer), id))));
    return isOfKit ? { id: 'headgate/kit', external: true } : undefined;
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

async function bundle(file: string, contents: string): Promise<void> {
  const entry = join(ROOT, 'packed-connector.ts');
  const given: Plugin = {
    name: 'given-entry',
    resolveId: (id) => (id === entry ? id : undefined),
    load: (id) => (id === entry ? { code: contents, moduleType: 'ts' } : undefined),
  };
  const made = await rolldown({
    input: entry,
    platform: 'node',
    plugins: [given, kitOnly],
    // What does not lie beside it is a package, or a part of Node.
    external: (id) => id !== 'zod' && !/^[./]/.test(id),
    logLevel: 'warn',
  });
  await made.write({ file, format: 'esm', codeSplitting: false });
  await made.close();
}
