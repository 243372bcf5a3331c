/**
 * `node bench/fast.ts --rows N --runs N --only NAME`: what each fast path earns. Its move runs with
 * and without it in turn, in one thread, so that both see the same machine. Fails where a fast path
 * earns too little to stay. The figures go into docs/performance.md.
 */
import { FAST_PATHS, LEAST_GAIN, PLAIN_VARIABLE, type FastPath } from '../src/fast/fast-paths.ts';
import { measure, type Usage } from './process.ts';
import { MOVES } from './moves/index.ts';
import type { Side } from './move.ts';
import { openBench } from './open-bench.ts';
import { readOptions } from './options.ts';
import { speedRatio, type Ratio } from './statistics.ts';

const options = readOptions(process.argv.slice(2));
const bench = await openBench(options);
try {
  for (const path of FAST_PATHS)
    if (options.only.length === 0 || options.only.includes(path.name)) await compare(path);
} finally {
  await bench.close();
}

async function compare(path: FastPath): Promise<void> {
  const move = MOVES.find(({ name }) => name === path.move);
  if (move?.kind !== 'processes') throw new Error(`there is no move "${path.move}"`);
  const { subject } = await move.contest(bench);
  const [fast, plain]: [Usage[], Usage[]] = [[], []];
  const runFast = async (): Promise<unknown> => fast.push(await perform(subject, ''));
  const runPlain = async (): Promise<unknown> => plain.push(await perform(subject, path.name));
  for (let round = 0; round < bench.runs; round += 1) {
    // Whoever goes first in one round goes last in the next.
    for (const run of round % 2 === 0 ? [runFast, runPlain] : [runPlain, runFast]) await run();
  }
  const cpu = speedRatio(cpuOf(fast), cpuOf(plain));
  const wall = speedRatio(wallOf(fast), wallOf(plain));
  const isEnough = Math.max(cpu.ratio, wall.ratio) >= LEAST_GAIN;
  if (!isEnough) process.exitCode = 1;
  console.log(
    `${path.name.padEnd(14)} ${path.move.padEnd(20)} processor time ${format(cpu)}, time ${format(wall)}${isEnough ? '' : ': earns too little'}`,
  );
}

async function perform(side: Side, plain: string): Promise<Usage> {
  await side.prepare?.();
  const { command } = side;
  const usage = await measure({
    ...command,
    // Threads would share the work of one side and not of the other.
    argv: [...command.argv, '--threads', '0'],
    env: { ...command.env, [PLAIN_VARIABLE]: plain },
  });
  await side.verify();
  return usage;
}

function cpuOf(usages: readonly Usage[]): number[] {
  return usages.map(({ cpuMs }) => cpuMs ?? Number.NaN);
}

function wallOf(usages: readonly Usage[]): number[] {
  return usages.map(({ wallMs }) => wallMs);
}

function format({ ratio, low, high }: Ratio): string {
  return `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}
