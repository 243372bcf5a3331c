/**
 * The bundle that is published: Node does not strip types below `node_modules`, a checkout needs no
 * build.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { noteOfBundle, stateOfSources } from '../bin/bundle.js';
import { bundlePrograms, isInstalled, oneLanguage } from './bundle/program-bundle.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Puts the bundle into `dist` below the folder, with word of what it was made of. */
export async function buildBundle(
  folder: string,
  { withConsole = true }: { readonly withConsole?: boolean } = {},
): Promise<void> {
  const outdir = join(folder, 'dist');
  rmSync(outdir, { recursive: true, force: true });
  const state = stateOfSources(ROOT);
  await bundlePrograms(outdir);
  await buildClient(join(outdir, 'client'));
  await buildKit(join(outdir, 'kit'));
  cpSync(join(ROOT, 'src/server/assets'), join(outdir, 'assets'), { recursive: true });
  if (withConsole) await buildConsole(folder);
  // A source that changed meanwhile may or may not be in it.
  if (stateOfSources(ROOT) === state) writeFileSync(noteOfBundle(folder), state);
}

/** The web console, as the static files that the server answers with. */
export async function buildConsole(folder: string): Promise<void> {
  const [{ build: buildSite }, { consoleBuild }] = await Promise.all([
    import('vite'),
    import('../console/vite.config.ts'),
  ]);
  await buildSite({ ...consoleBuild(join(folder, 'dist/console')), configFile: false });
}

/** What a package needs beside the bundle, and what is only read. */
const [COPIED, LINKED] = [
  ['bin', 'package.json'],
  ['data', 'docs', 'examples', 'node_modules', 'schemas'],
];

/**
 * The package as users install it, in a folder of its own: nothing that is written into the
 * checkout meanwhile changes what runs. Gives the path of the launcher. Without the console, which
 * few tests look at: `buildConsole` adds it.
 */
export async function buildPackage(folder: string): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await buildBundle(folder, { withConsole: false });
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name));
  return join(folder, 'bin/headgate.js');
}

/** `headgate/client`: one module that browsers load, too, and its types. */
async function buildClient(outdir: string): Promise<void> {
  const entry = join(ROOT, 'src/client/index.ts');
  const bundle = await rolldown({
    input: entry,
    platform: 'neutral',
    transform: { target: 'es2022' },
  });
  await bundle.write({ file: join(outdir, 'index.js'), format: 'esm' });
  await bundle.close();
  writeTypes(entry, { outdir, rootDir: dirname(entry) });
}

/**
 * `headgate/kit`: for tests of connectors and for editors. A connector that a run loads gets the kit
 * of the program (`packages/kit-hook.ts`).
 */
async function buildKit(outdir: string): Promise<void> {
  const entry = join(ROOT, 'src/kit/index.ts');
  const bundle = await rolldown({
    input: entry,
    platform: 'node',
    external: (id) => id.startsWith('node:') || isInstalled(id),
    plugins: [oneLanguage],
  });
  await bundle.write({
    file: join(outdir, 'index.js'),
    format: 'esm',
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  await bundle.close();
  writeTypes(entry, { outdir: join(outdir, 'types'), rootDir: join(ROOT, 'src') });
}

function writeTypes(
  entry: string,
  { outdir, rootDir }: { readonly outdir: string; readonly rootDir: string },
): void {
  execFileSync(
    join(ROOT, 'node_modules/.bin/tsc'),
    [
      '--ignoreConfig --declaration --emitDeclarationOnly --skipLibCheck --strict',
      '--allowImportingTsExtensions --module nodenext --target esnext --types node',
    ]
      .flatMap((words) => words.split(' '))
      .concat('--rootDir', rootDir, '--outDir', outdir, entry),
    { stdio: 'inherit' },
  );
  for (const name of readdirSync(outdir, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const text = readFileSync(join(outdir, name), 'utf8');
    writeFileSync(
      join(outdir, name),
      text.replaceAll(/((?:from|import\() ?'\.[^']*)\.ts'/g, "$1.js'"),
    );
  }
}

if (import.meta.main) await buildBundle(ROOT);
