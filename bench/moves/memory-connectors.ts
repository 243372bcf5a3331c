/**
 * Memory of moves out of servers: the peak must not grow with the number of records, and must stay
 * bounded where the other side is slow.
 */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { headgateRun, pipelineDocument, type Bench, type Move } from '../move.ts';
import { measure, watchMemory, type Command } from '../process.ts';
import type { Figure } from '../result.ts';
import { changesOfPeople } from './changes.ts';
import { sourceOfPeople } from './kafka.ts';
import { tableOfPeople } from './mysql.ts';
import { objectOfPeople, STORE_VARIABLES } from './objects.ts';

/** How many times as many records the larger data set has. */
const GROWTH = 10;
/** A second look at the same size may differ by this much, too. */
const MOST_GROWTH = 1.15;
const MEBIBYTE = 1024 * 1024;
/** What a slow reader takes at once, and how long it then waits: about 20 MB a second. */
const SLOW_BYTES = 200_000;
const SLOW_MS = 10;
/** Characters of what a program that fails has said. */
const TOLD = 4000;

/** A source with so many records, which is read once from its beginning. */
type SourceOf = (bench: Bench, rows: number) => Promise<string>;

const SOURCES: readonly (readonly [name: string, source: SourceOf, limitMiB: number])[] = [
  ['MariaDB', tableOfPeople, 200],
  ['Kafka', sourceOfPeople, 400],
  ['S3', objectOfPeople, 220],
  ['PostgreSQL CDC', changesSource, 450],
];

async function changesSource(bench: Bench, rows: number): Promise<string> {
  const changes = await changesOfPeople(bench, rows);
  const slot = `bench_memory_${rows}`;
  await changes.rewind(slot);
  return changes.source(slot);
}

const memory: Move = {
  kind: 'service',
  name: 'memory-connectors',
  title: `Peak memory of moves out of servers, with ${GROWTH} times as many records and with a slow reader`,
  how: `Each source is read into JSON Lines, and then one of ${GROWTH} times as many records of the same shape; then those are printed to a reader that takes 20 MB a second. The peak is the kernel's high-water mark of the program alone.`,
  async measure(bench) {
    const figures: Figure[] = [];
    for (const [name, sourceOf, limitMiB] of SOURCES) {
      bench.say(`  ${name}`);
      const large = bench.rows * GROWTH;
      const small = await fileMove(bench, await sourceOf(bench, bench.rows));
      const whole = await fileMove(bench, await sourceOf(bench, large));
      const slow = await slowMove(bench, await sourceOf(bench, large));
      const count = (rows: number): string => `${rows.toLocaleString('en')} records`;
      figures.push(
        { name: `${name}: ${count(bench.rows)}`, unit: 'MiB', samples: [small] },
        {
          name: `${name}: ${count(large)}`,
          unit: 'MiB',
          samples: [whole],
          target: { bound: 'at most', value: limitMiB },
        },
        {
          name: `${name}: growth`,
          unit: '×',
          samples: [whole / small],
          target: { bound: 'at most', value: MOST_GROWTH },
        },
        {
          name: `${name}: ${count(large)}, slow reader`,
          unit: 'MiB',
          samples: [slow],
          target: { bound: 'at most', value: limitMiB },
        },
      );
    }
    return figures;
  },
};

async function fileMove(bench: Bench, source: string): Promise<number> {
  const output = join(bench.folder, 'memory-connectors.jsonl');
  const sink = `{ type: jsonl, config: { path: ${output} } }`;
  const { peakRssBytes } = await measure(commandOf(bench, source, sink));
  await rm(output, { force: true });
  return (peakRssBytes ?? Number.NaN) / MEBIBYTE;
}

async function slowMove(bench: Bench, source: string): Promise<number> {
  const { argv, cwd, env } = commandOf(bench, source, '{ type: stdout, config: {} }');
  const child = spawn('/bin/sh', ['-c', '"$@"; exit $?', 'sh', ...argv], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const watch = watchMemory(child.pid);
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  void ended.then(() => watch.stop());
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-TOLD)));
  await readSlowly(child.stdout);
  if ((await ended) !== 0) throw new Error(`the move to a slow reader failed:\n${said}`);
  return watch.peak() / MEBIBYTE;
}

async function readSlowly(output: Readable): Promise<void> {
  let bytes = 0;
  for await (const chunk of output) {
    bytes += (chunk as Buffer).length;
    if (bytes < SLOW_BYTES) continue;
    bytes = 0;
    await pause(SLOW_MS);
  }
}

function commandOf(bench: Bench, source: string, sink: string): Command {
  const document = pipelineDocument('memory-connectors', { source, sink });
  return {
    ...headgateRun(bench.folder, 'memory-connectors', document),
    env: STORE_VARIABLES,
  };
}

export const connectorMemoryMoves: readonly Move[] = [memory];
