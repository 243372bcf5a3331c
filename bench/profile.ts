/**
 * `node bench/profile.ts NAME [--rows N]`: where the program spends its processor time in one move,
 * function by function.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from './machine.ts';
import { MOVES } from './moves/index.ts';
import { openBench } from './open-bench.ts';
import { readOptions } from './options.ts';
import { measure } from './process.ts';

const MOST = 25;

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

const [name = '', ...rest] = process.argv.slice(2);
const options = readOptions(rest);
const move = MOVES.find((one) => one.name === name);
if (move?.kind !== 'processes')
  throw new Error(`"${name}" is no move that is one process; see npm run bench -- --list`);
// Names and lines of the sources say more than those of the bundle.
const bench = await openBench({ ...options, build: 'sources' });
const { subject } = await move.contest(bench);
const folder = mkdtempSync(join(options.folder, 'profile-'));
try {
  const [node = '', ...args] = subject.command.argv;
  await subject.prepare?.();
  await measure({
    ...subject.command,
    argv: [node, '--cpu-prof', `--cpu-prof-dir=${folder}`, ...args],
  });
  await subject.verify();
  for (const file of readdirSync(folder))
    console.log(table(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile));
} finally {
  rmSync(folder, { recursive: true });
  await bench.close();
}

function table({ nodes, samples, timeDeltas }: Profile): string {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, place(callFrame)]));
  const selfMs = new Map<string, number>();
  samples.forEach((id, index) => {
    const where = places.get(id) ?? 'unknown';
    selfMs.set(where, (selfMs.get(where) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  });
  const total = [...selfMs.values()].reduce((sum, ms) => sum + ms, 0);
  const top = [...selfMs].sort((a, b) => b[1] - a[1]).slice(0, MOST);
  return top
    .map(
      ([where, ms]) =>
        `${((ms * 100) / total).toFixed(1).padStart(5)} %  ${ms.toFixed(0).padStart(6)} ms  ${where}`,
    )
    .join('\n');
}

function place({ functionName, url, lineNumber }: CallFrame): string {
  const path = url.startsWith('file://') ? relative(ROOT, new URL(url).pathname) : url;
  return `${functionName === '' ? '(anonymous)' : functionName}${path === '' ? '' : `  ${path}:${lineNumber + 1}`}`;
}
