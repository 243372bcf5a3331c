/**
 * The list of runs as far as it was read, newest first, kept current by asking for its first page
 * again and again. Older runs are read as the reader comes to them.
 */
import type { HeadgateClient, RunListAnswer, RunListQuery } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';

export type Run = RunListAnswer['runs'][number];
export type RunStatus = Run['status'];

export interface RunFilter {
  readonly status: readonly RunStatus[];
  readonly name: string;
  /** How long ago at most, such as `24h`; empty: any time. */
  readonly since: string;
}

export interface RunList {
  readonly runs: readonly Run[];
  /** Where to go on; null: there is no more. */
  readonly cursor: string | null;
}

export const PAGE = 100;
/** Whoever scrolls on wants to go far. */
export const OLDER_PAGE = 500;
/** Runs that are older than the first page and not over are asked for one by one, up to so many. */
const MOST_SINGLES = 20;
const ACTIVE: ReadonlySet<string> = new Set<RunStatus>(['queued', 'running']);

export function isActive({ status }: Pick<Run, 'status'>): boolean {
  return ACTIVE.has(status);
}

export function queryOf(filter: RunFilter, now = Date.now()): RunListQuery {
  const ago = millisecondsOf(filter.since);
  return {
    limit: PAGE,
    ...(filter.status.length === 0 ? {} : { status: [...filter.status] }),
    ...(filter.name === '' ? {} : { name: filter.name }),
    ...(ago === undefined ? {} : { since: new Date(now - ago).toISOString() }),
  };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export function millisecondsOf(since: string): number | undefined {
  const [, number, unit = ''] = /^(\d{1,4})([mhd])$/.exec(since) ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 0);
}

export async function readRuns(
  client: HeadgateClient,
  query: RunListQuery,
  signal: AbortSignal,
): Promise<RunList> {
  const answer = answerOf(await client.routes.GET('/v1/runs', { params: { query }, signal }));
  return { runs: answer.runs, cursor: answer.next_cursor };
}

/** The list with the newest page in it. */
export function withNewest(before: RunList | undefined, page: RunList): RunList {
  const oldest = page.runs.at(-1);
  if (before === undefined || oldest === undefined || page.cursor === null) return page;
  const known = new Set(page.runs.map(({ run_id: id }) => id));
  // What the page reaches over and does not have is gone, or does not pass the filter any more.
  const older = before.runs.filter((run) => !known.has(run.run_id) && isOlder(run, oldest));
  const reachesOn = before.runs.some((run) => known.has(run.run_id));
  if (older.length === 0 || !reachesOn) return page;
  return { runs: [...page.runs, ...older], cursor: before.cursor };
}

function isOlder(run: Run, than: Run): boolean {
  return run.submitted_at === than.submitted_at
    ? run.run_id < than.run_id
    : run.submitted_at < than.submitted_at;
}

/** The next page behind what is there. */
export function withOlder(before: RunList, page: RunList): RunList {
  const known = new Set(before.runs.map(({ run_id: id }) => id));
  return {
    runs: [...before.runs, ...page.runs.filter(({ run_id: id }) => !known.has(id))],
    cursor: page.cursor,
  };
}

/** What became of runs that are too old for the first page, and were not over when last seen. */
export async function refreshOlder(
  client: HeadgateClient,
  list: RunList,
  signal: AbortSignal,
): Promise<RunList> {
  const waiting = list.runs.slice(PAGE).filter(isActive).slice(0, MOST_SINGLES);
  if (waiting.length === 0) return list;
  const found = await Promise.all(
    waiting.map(async ({ run_id: id }) => {
      const answer = await client.routes
        .GET('/v1/runs/{id}', { params: { path: { id } }, signal })
        .catch(() => undefined);
      return [id, answer?.data] as const;
    }),
  );
  const changed = new Map(found);
  return { ...list, runs: list.runs.map((run) => changed.get(run.run_id) ?? run) };
}
