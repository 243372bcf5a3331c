/** Memory: the peak of whole processes must not grow with the number of records. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { peopleFile } from '../data.ts';
import { headgateRun, type Bench, type Move } from '../move.ts';
import { measure } from '../process.ts';
import type { Figure } from '../result.ts';
import { fileDocument } from './files.ts';
import { governedDocument } from './governed.ts';

/** How many times as many records the larger file has. */
const GROWTH = 10;
/** A second look at the same size may differ by this much, too. */
const MOST_GROWTH = 1.15;
const MEBIBYTE = 1024 * 1024;

interface Lane {
  readonly name: string;
  readonly limitMiB: number;
  readonly ending: string;
  document(input: string, output: string): string;
}

const LANES: readonly Lane[] = [
  {
    name: 'CSV → JSON Lines, bytes',
    limitMiB: 120,
    ending: 'jsonl',
    document: (input, output) =>
      fileDocument('memory-bytes', input, `{ type: jsonl, config: { path: ${output} } }`),
  },
  {
    name: 'CSV → JSON Lines, governed',
    limitMiB: 220,
    ending: 'jsonl',
    document: governedDocument,
  },
  {
    name: 'CSV → Parquet',
    limitMiB: 220,
    ending: 'parquet',
    document: (input, output) =>
      fileDocument(
        'memory-parquet',
        input,
        `{ type: parquet, config: { destination: { type: local_path, path: ${output} } } }`,
      ),
  },
];

const memory: Move = {
  kind: 'service',
  name: 'memory',
  title: `Peak memory of the whole process, with ${GROWTH} times as many records`,
  how: `Each document moves a file and then one of ${GROWTH} times as many records of the same shape; the peak is the kernel's high-water mark.`,
  async measure(bench) {
    const figures: Figure[] = [];
    for (const lane of LANES) {
      bench.say(`  ${lane.name}`);
      const small = await peakOf(bench, lane, bench.rows);
      const large = await peakOf(bench, lane, bench.rows * GROWTH);
      figures.push(
        {
          name: `${lane.name}: ${bench.rows.toLocaleString('en')} records`,
          unit: 'MiB',
          samples: [small],
        },
        {
          name: `${lane.name}: ${(bench.rows * GROWTH).toLocaleString('en')} records`,
          unit: 'MiB',
          samples: [large],
          target: { bound: 'at most', value: lane.limitMiB },
        },
        {
          name: `${lane.name}: growth`,
          unit: '×',
          samples: [large / small],
          target: { bound: 'at most', value: MOST_GROWTH },
        },
      );
    }
    return figures;
  },
};

async function peakOf(bench: Bench, lane: Lane, rows: number): Promise<number> {
  const output = join(bench.folder, `memory.${lane.ending}`);
  const clear = async (): Promise<void> => {
    for (const path of [output, `${output}.dead`]) await rm(path, { force: true });
  };
  await clear();
  const document = lane.document(peopleFile(bench.folder, rows), output);
  const { peakRssBytes } = await measure(headgateRun(bench.folder, 'memory', document));
  await clear();
  return (peakRssBytes ?? Number.NaN) / MEBIBYTE;
}

export const memoryMoves: readonly Move[] = [memory];
