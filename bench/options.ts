import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Build } from './build.ts';

export interface Options {
  readonly rows: number;
  readonly runs: number;
  /** Names of moves; all when empty. */
  readonly only: readonly string[];
  /** Result file that the measured moves are put into; without it nothing is stored. */
  readonly store: string | undefined;
  /** Where data and outputs go; never inside the repository. */
  readonly folder: string;
  readonly build: Build;
  readonly list: boolean;
}

export const USAGE = `npm run bench -- [options]

  --rows N      rows of the data (default 1000000)
  --runs N      timed runs of each side of a move (default 5)
  --only NAME   this move only; may be repeated
  --store FILE  put the result into this file; moves measured earlier on the same machine stay in it
  --sources     measure the sources of this checkout instead of the bundle that users install
  --list        the names of the moves

HEADGATE_BENCH_DIR is the folder of data and outputs (default: a folder for temporary files).`;

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '1000000' },
      runs: { type: 'string', default: '5' },
      only: { type: 'string', multiple: true, default: [] },
      store: { type: 'string' },
      sources: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  return {
    rows: wholeNumber('--rows', values.rows),
    runs: wholeNumber('--runs', values.runs),
    only: values.only,
    store: values.store === undefined ? undefined : resolve(values.store),
    folder: resolve(process.env['HEADGATE_BENCH_DIR'] ?? join(tmpdir(), 'headgate-bench')),
    build: values.sources ? 'sources' : 'bundle',
    list: values.list,
  };
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`${name} is a whole number from 1 on, not "${text}"`);
  return value;
}
