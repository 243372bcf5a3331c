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
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { noteOfBundle, stateOfSources } from '../bin/bundle.js';

const ROOT = resolve(import.meta.dirname, '..');

/**
 * What the package installs, or what a user installs beside it, stays in `node_modules`; every other
 * library becomes part of the bundle.
 */
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as Record<'dependencies' | 'peerDependencies', Readonly<Record<string, string>>>;
const external = Object.keys({ ...dependencies, ...peerDependencies }).flatMap((name) => [
  name,
  `${name}/*`,
]);

/**
 * What is started as a program or a thread of its own, by the name by which `lib/files/program-file.ts`
 * finds it, and the code that says for what purpose it runs (and how long a worker works) before what
 * it compiled is kept for the next run. Where it is not: it is killed, and keeps what it can by
 * itself.
 */
const PROGRAMS: Readonly<Record<string, string | undefined>> = {
  main: 'process.argv[2]',
  worker: 'process.argv[3], 5000',
  'crash-attempt': undefined,
  'conformance-writer': undefined,
  'history/sqlite/checkpoint-thread': undefined,
  'stage-thread': "'stages'",
};

/**
 * The schema library brings its messages in fifty languages, half of its size; ours are told in
 * `kit/schema.ts`.
 */
const oneLanguage: Plugin = {
  name: 'one-language',
  setup: (building) => {
    building.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: `export { default as en } from './en.js';`,
    }));
  },
};

/**
 * Puts the bundle into `dist` below the folder, with word of what it was made of: one file a
 * program, in which a module is run when it is first asked for, and a small one by the name of the
 * program that starts it. CommonJS, because a hundred modules that are linked to each other take
 * longer than most documents take to run, and because what is imported of Node is then loaded with
 * the module that uses it.
 */
export async function buildBundle(
  folder: string,
  { withConsole = true }: { readonly withConsole?: boolean } = {},
): Promise<void> {
  const outdir = join(folder, 'dist');
  rmSync(outdir, { recursive: true, force: true });
  const state = stateOfSources(ROOT);
  const { metafile } = await build({
    entryPoints: Object.keys(PROGRAMS).map((name) => join(ROOT, `src/${name}.ts`)),
    outdir,
    outbase: join(ROOT, 'src'),
    entryNames: '[dir]/[name]-[hash]',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    external,
    plugins: [oneLanguage],
    define: { 'import.meta.url': 'urlOfFile', 'import.meta.dirname': '__dirname' },
    // A script that is run from kept code cannot import; Node's `require` takes modules, too.
    supported: { 'dynamic-import': false },
    banner: { js: "const urlOfFile = require('node:url').pathToFileURL(__filename).href;" },
    // Names stay readable in stack traces; the rest is time to load.
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'linked',
    metafile: true,
    logLevel: 'warning',
  });
  for (const [file, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined) continue;
    refuseWideText(resolve(file));
    writeStarter(
      outdir,
      relative(join(ROOT, 'src'), entryPoint).slice(0, -extname(entryPoint).length),
      basename(file),
    );
  }
  await buildClient(join(outdir, 'client'));
  await buildKit(join(outdir, 'kit'));
  cpSync(join(ROOT, 'src/server/assets'), join(outdir, 'assets'), { recursive: true });
  if (withConsole) await buildConsole(folder);
  // A source that changed meanwhile may or may not be in it.
  if (stateOfSources(ROOT) === state) writeFileSync(noteOfBundle(folder), state);
}

/** One letter outside ASCII, and a program takes twice the memory and much longer to load. */
function refuseWideText(file: string): void {
  const text = readFileSync(file, 'latin1');
  // oxlint-disable-next-line no-control-regex -- The range is what it is about.
  const found = /[^\u0000-\u007F]+/.exec(text);
  if (found === null) return;
  const around = Buffer.from(text.slice(found.index - 60, found.index + 60), 'latin1');
  throw new Error(`${file} is not all ASCII; write an escape here: ${around.toString('utf8')}`);
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
  await build({
    entryPoints: [entry],
    outfile: join(outdir, 'index.js'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  });
  writeTypes(entry, { outdir, rootDir: dirname(entry) });
}

/**
 * `headgate/kit`: for tests of connectors and for editors. A connector that a run loads gets the kit
 * of the program (`packages/kit-hook.ts`).
 */
async function buildKit(outdir: string): Promise<void> {
  const entry = join(ROOT, 'src/kit/index.ts');
  await build({
    entryPoints: [entry],
    outfile: join(outdir, 'index.js'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external,
    plugins: [oneLanguage],
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'warning',
  });
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

/** `file` lies in the same folder as the starter. */
function writeStarter(outdir: string, program: string, file: string): void {
  const purpose = PROGRAMS[program];
  const starter = join(outdir, `${program}.cjs`);
  const compiled = relative(dirname(starter), join(outdir, '../bin/compiled.js'));
  writeFileSync(
    starter,
    purpose === undefined
      ? `require('./${file}');\n`
      : `require('${compiled}').runCompiled(__dirname + '/${file}', ${purpose});\n`,
  );
}

if (import.meta.main) await buildBundle(ROOT);
