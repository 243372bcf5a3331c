import { useRef } from 'preact/hooks';
import type { HeadgateClient } from '../../../src/client/index.ts';
import { useAsked } from '../lib/use-asked.ts';
import { T } from '../texts.ts';
import { isActive, readRuns, type Run } from './run-feed.ts';

const MINUTE = 60_000;
const MINUTES = 60;
const EVERY_MS = 10_000;
const [MOST_PAGES, PAGE] = [10, 500];

type Slice = Pick<Run, 'run_id' | 'status' | 'submitted_at'>;

/** A bar for each minute of the last hour; what failed stands at its foot. */
export function LastHour() {
  const known = useRef(new Map<string, Slice>());
  const { data } = useAsked((client, signal) => look(client, known.current, signal), {
    everyMs: EVERY_MS,
  });
  if (data === undefined) return <div class="last-hour" />;
  const highest = Math.max(1, ...data.minutes.map(({ all }) => all));
  const summary = T.runs.lastHourSummary(data.all, data.failed);
  return (
    <figure class="last-hour">
      <svg
        viewBox={`0 0 ${MINUTES * 4} 32`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${T.runs.lastHour}: ${summary}`}
      >
        {data.minutes.map(({ all, failed }, index) => (
          <g key={index}>
            <rect
              class="bar"
              x={index * 4}
              width={3}
              y={32 - heightOf(all, highest)}
              height={heightOf(all, highest)}
            />
            <rect
              class="bar-failed"
              x={index * 4}
              width={3}
              y={32 - heightOf(failed, highest)}
              height={heightOf(failed, highest)}
            />
          </g>
        ))}
      </svg>
      <figcaption class="muted">{summary}</figcaption>
    </figure>
  );
}

function heightOf(runs: number, highest: number): number {
  return runs === 0 ? 0 : Math.max(2, (runs / highest) * 32);
}

interface Hour {
  readonly minutes: readonly { readonly all: number; readonly failed: number }[];
  readonly all: number;
  readonly failed: number;
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
    for (const { run_id, status, submitted_at } of found.runs)
      known.set(run_id, { run_id, status, submitted_at });
    cursor = found.cursor;
  }
  return hourOf([...known.values()], start);
}

export function hourOf(runs: readonly Slice[], start: number): Hour {
  const minutes = Array.from({ length: MINUTES }, () => ({ all: 0, failed: 0 }));
  const sum = { all: 0, failed: 0 };
  for (const { submitted_at: at, status } of runs) {
    const minute = minutes[Math.min(MINUTES - 1, Math.floor((Date.parse(at) - start) / MINUTE))];
    if (minute === undefined) continue;
    for (const counted of [minute, sum]) {
      counted.all += 1;
      if (status === 'failed') counted.failed += 1;
    }
  }
  return { minutes, ...sum };
}
