/** The runs of the last hour, by minute. */
import { useRef } from 'preact/hooks';
import type { HeadgateClient } from '../../../src/client/index.ts';
import { useAsked, type Asked } from '../lib/use-asked.ts';
import { isActive, readRuns, type Run } from './run-feed.ts';

const MINUTE = 60_000;
export const MINUTES = 60;
const EVERY_MS = 10_000;
const [MOST_PAGES, PAGE] = [10, 500];

export type Slice = Pick<Run, 'run_id' | 'status' | 'submitted_at' | 'elapsed_secs'>;

export function useLastHour(): Asked<Hour> {
  const known = useRef(new Map<string, Slice>());
  return useAsked((client, signal) => look(client, known.current, signal), { everyMs: EVERY_MS });
}

export interface Counts {
  readonly all: number;
  readonly failed: number;
  /** 19 of 20 runs that have ended took no longer; absent where none has. */
  readonly p95Secs: number | undefined;
}

export interface Hour extends Counts {
  readonly start: number;
  readonly minutes: readonly Counts[];
  /** False: there were more runs than are read. */
  readonly isWhole: boolean;
}

/** After the first time only what is new, and what had not ended. */
async function look(
  client: HeadgateClient,
  known: Map<string, Slice>,
  signal: AbortSignal,
): Promise<Hour> {
  const now = Date.now();
  const start = now - MINUTES * MINUTE;
  for (const [id, run] of known) if (Date.parse(run.submitted_at) < start) known.delete(id);
  const open = [...known.values()].filter(isActive).map((run) => Date.parse(run.submitted_at));
  const since = known.size === 0 ? start : Math.max(start, Math.min(now - 2 * MINUTE, ...open));
  let cursor: string | null | undefined;
  for (let page = 0; page < MOST_PAGES && cursor !== null; page += 1) {
    const query = { limit: PAGE, since: new Date(since).toISOString() };
    const found = await readRuns(
      client,
      cursor === undefined ? query : { ...query, cursor },
      signal,
    );
    for (const { run_id, status, submitted_at, elapsed_secs } of found.runs)
      known.set(run_id, { run_id, status, submitted_at, elapsed_secs });
    cursor = found.cursor;
  }
  return { ...hourOf([...known.values()], start), isWhole: cursor === null };
}

export function hourOf(runs: readonly Slice[], start: number): Omit<Hour, 'isWhole'> {
  const minutes = Array.from({ length: MINUTES }, (): Slice[] => []);
  for (const run of runs) {
    const minute = Math.floor((Date.parse(run.submitted_at) - start) / MINUTE);
    minutes[Math.min(MINUTES - 1, minute)]?.push(run);
  }
  return { start, minutes: minutes.map(countsOf), ...countsOf(minutes.flat()) };
}

function countsOf(runs: readonly Slice[]): Counts {
  const failed = runs.filter(({ status }) => status === 'failed').length;
  const took = runs
    .flatMap((run) => (isActive(run) ? [] : (run.elapsed_secs ?? [])))
    .sort((one, other) => one - other);
  return { all: runs.length, failed, p95Secs: took[Math.ceil(took.length * 0.95) - 1] };
}
