/** What a start costs: a run that has next to nothing to do, beside an empty program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { headgateRun, type Bench, type Move } from '../move.ts';
import { measure, type Command } from '../process.ts';
import type { Figure } from '../result.ts';
import { fileDocument } from './files.ts';

/** A start takes three or four units of the clock that counts processor time. */
const STARTS = 20;
/** The other side is measured directly before or after, so that both see the same machine. */
const PAIRS = 7;
const MOST = 2.5;

const start: Move = {
  kind: 'service',
  name: 'start',
  title: 'A cold run of one CSV row, beside an empty Node program (`node -e 0`)',
  how: `${PAIRS} pairs of ${STARTS} processes one after the other, in turn; the processor time of a process is the average of its ${STARTS}, the ratio is that of each pair.`,
  async measure(bench) {
    const [run, empty] = [oneRow(bench), { argv: [process.execPath, '-e', '0'] }];
    // Code that is compiled is kept by the first run.
    await cpuOf(run);
    const pairs: { readonly run: number; readonly empty: number }[] = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const first = await cpuOf(pair % 2 === 0 ? run : empty);
      const second = await cpuOf(pair % 2 === 0 ? empty : run);
      pairs.push(pair % 2 === 0 ? { run: first, empty: second } : { run: second, empty: first });
    }
    return figuresOf(pairs);
  },
};

function figuresOf(
  pairs: readonly { readonly run: number; readonly empty: number }[],
): readonly Figure[] {
  return [
    { name: 'headgate run, processor time', unit: 'ms', samples: pairs.map(({ run }) => run) },
    { name: 'node -e 0, processor time', unit: 'ms', samples: pairs.map(({ empty }) => empty) },
    {
      name: 'headgate run / node -e 0',
      unit: '×',
      samples: pairs.map(({ run, empty }) => run / empty),
      target: { bound: 'at most', value: MOST },
    },
  ];
}

function oneRow(bench: Bench): Command {
  const [input, output] = ['in.csv', 'out.jsonl'].map((name) =>
    join(bench.folder, `start-${name}`),
  );
  writeFileSync(input ?? '', 'id\n1\n');
  const sink = `{ type: jsonl, config: { path: ${output ?? ''} } }`;
  return headgateRun(bench.folder, 'start', fileDocument('start', input ?? '', sink), '--quiet');
}

/** Of one process, in milliseconds. */
async function cpuOf({ argv, cwd }: Command): Promise<number> {
  const { cpuMs } = await measure({
    argv: ['/bin/sh', '-c', `for i in $(seq ${STARTS}); do "$@" || exit 1; done`, 'sh', ...argv],
    ...(cwd === undefined ? {} : { cwd }),
  });
  return (cpuMs ?? Number.NaN) / STARTS;
}

export const startMoves: readonly Move[] = [start];
