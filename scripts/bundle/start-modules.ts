/** Which modules a start needs: those that a small run from file to file loads. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { OutputChunk } from 'rolldown';

const ROOT = resolve(import.meta.dirname, '../..');

const DOCUMENT = `version: 1
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

/** Writes down which files a process runs as scripts. */
const RECORDER = `
const vm = require('node:vm');
const files = [];
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    files.push(options.filename);
  }
};
process.on('exit', () => require('node:fs').writeFileSync('files.json', JSON.stringify(files)));
`;

/** Runs the programs in `dist` of the folder, which consist of these chunks. */
export function modulesOfStart(
  folder: string,
  chunks: readonly OutputChunk[],
): ReadonlySet<string> {
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  const work = join(folder, 'work');
  mkdirSync(work);
  writeFileSync(join(work, 'recorder.cjs'), RECORDER);
  writeFileSync(join(work, 'd.yaml'), DOCUMENT);
  writeFileSync(join(work, 'in.csv'), 'id\n1\n');
  const launcher = join(folder, 'bin/headgate.js');
  execFileSync(process.execPath, ['-r', './recorder.cjs', launcher, 'run', 'd.yaml', '--quiet'], {
    cwd: work,
    env: { ...process.env, NODE_COMPILE_CACHE: join(work, 'cache') },
  });
  const files = JSON.parse(readFileSync(join(work, 'files.json'), 'utf8')) as readonly string[];
  const names = new Set(files.map((file) => basename(file)));
  const loaded = chunks.filter(({ fileName }) => names.has(fileName));
  return new Set(loaded.flatMap(({ moduleIds }) => moduleIds));
}
