/** The programs of the package, as files that are loaded when what stands in them is needed. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown, type OutputChunk, type OutputOptions } from 'rolldown';
import { readDefinitionLists, type DefinitionLists } from './definition-lists.ts';
import { modulesOfStart } from './start-modules.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = join(ROOT, 'src');

/**
 * What the package installs, or what a user installs beside it, stays in `node_modules`; every other
 * library becomes part of the bundle.
 */
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as Record<'dependencies' | 'peerDependencies', Readonly<Record<string, string>>>;
const installed = Object.keys({ ...dependencies, ...peerDependencies });

export function isInstalled(id: string): boolean {
  return installed.some((name) => id === name || id.startsWith(`${name}/`));
}

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

/** A program begins when its module is run: it must not lie where others load what they need. */
const programFiles: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(PROGRAMS).map((name) => [fileOf(name), join(SOURCES, `${name}.ts`)]),
);

/**
 * The schema library brings its messages in fifty languages, half of its size; ours are told in
 * `kit/schema.ts`.
 */
export const oneLanguage = {
  name: 'one-language',
  load: (id: string) =>
    /zod[\\/]v4[\\/]locales[\\/]index\.js$/.test(id)
      ? `export { default as en } from './en.js';`
      : undefined,
};

/**
 * Puts the programs into the folder: a small file by the name of each, which starts it, and beside
 * those the files of all. What a small run from file to file loads is one of them, so that a start
 * reads and compiles one file and nothing that it does not use. CommonJS, because modules that are
 * linked to each other take longer to load than most documents take to run.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  const trial = mkdtempSync(join(tmpdir(), 'headgate-bundle-'));
  const lists = await readDefinitionLists(SOURCES);
  try {
    const chunks = await write(join(trial, 'dist'), lists, {});
    const start = modulesOfStart(trial, chunks).difference(new Set(Object.values(programFiles)));
    await write(folder, lists, {
      codeSplitting: { groups: [{ name: 'start', test: (id) => start.has(id) }] },
      // Names stay readable in stack traces; the rest is time to load.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
      sourcemap: true,
      sourcemapExcludeSources: true,
    });
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

async function write(
  folder: string,
  lists: DefinitionLists,
  options: OutputOptions,
): Promise<readonly OutputChunk[]> {
  const bundle = await rolldown({
    input: { ...programFiles, ...lists.entries },
    platform: 'node',
    external: (id) => id.startsWith('node:') || lists.isReference(id) || isInstalled(id),
    plugins: [lists.plugin, oneLanguage],
    preserveEntrySignatures: 'allow-extension',
    // A module that is also imported in another way is simply loaded with what imports it.
    checks: { ineffectiveDynamicImport: false, bundlerTimings: false },
    logLevel: 'warn',
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'shared-[name].cjs',
    // A script that is run from kept code cannot import; Node's `require` takes modules, too.
    dynamicImportInCjs: false,
    // One letter outside ASCII, and a file takes twice the memory and much longer to load.
    charset: 'ascii',
    comments: { legal: true, annotation: false, jsdoc: false },
    ...options,
  });
  await bundle.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  for (const { fileName } of chunks) refuseWideText(join(folder, fileName));
  const build = createHash('sha256');
  for (const { code } of chunks) build.update(code);
  writeStarters(folder, build.digest('hex').slice(0, 8));
  return chunks;
}

function fileOf(program: string): string {
  return `program-${program.replaceAll('/', '-')}`;
}

/** `build` changes with what stands in any of the files: what another build compiled is no use. */
function writeStarters(folder: string, build: string): void {
  for (const [program, purpose] of Object.entries(PROGRAMS)) {
    const starter = join(folder, `${program}.cjs`);
    const beside = (file: string): string => {
      const path = relative(dirname(starter), join(folder, file));
      return path.startsWith('.') ? path : `./${path}`;
    };
    const file = beside(`${fileOf(program)}.cjs`);
    const compiled = beside('../bin/compiled.js');
    mkdirSync(dirname(starter), { recursive: true });
    writeFileSync(
      starter,
      purpose === undefined
        ? `require('${file}');\n`
        : `require('${compiled}').runCompiled(require.resolve('${file}'), '${build}', ${purpose});\n`,
    );
  }
}

/** Where escapes are not possible, such as in a comment with a licence. */
function refuseWideText(file: string): void {
  const text = readFileSync(file, 'latin1');
  // oxlint-disable-next-line no-control-regex -- The range is what it is about.
  const found = /[^\u0000-\u007F]+/.exec(text);
  if (found === null) return;
  const around = Buffer.from(text.slice(found.index - 60, found.index + 60), 'latin1');
  throw new Error(`${file} is not all ASCII; write an escape here: ${around.toString('utf8')}`);
}
