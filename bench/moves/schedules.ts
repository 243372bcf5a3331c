/** Schedules that are due at the same moment. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench, Move } from '../move.ts';
import { startHeadgate, untilIdle } from '../service.ts';

const SCHEDULES = 1000;
/** The server reads its schedules before the tick comes. */
const AHEAD_MS = 20_000;
const POLL_MS = 50;
const PAGE = 500;

interface ListedRun {
  readonly submitted_at: string;
  readonly labels: Readonly<Record<string, string>>;
}

export const dueTogether: Move = {
  kind: 'service',
  name: 'serve-schedules',
  title: '1,000 schedules due in the same second',
  how:
    'A folder of 1,000 documents that copy one row of CSV to a file of their own. Counted from the tick to the submission of the last run, whose record says it; ' +
    'the queue has its default size, so that most ticks wait for room. Every schedule has one run, or the move fails.',
  async measure(bench) {
    const last: number[] = [];
    const median: number[] = [];
    for (let round = 0; round < bench.runs; round++) {
      bench.say(`  round ${round + 1} of ${bench.runs}`);
      const late = await oneRound(bench);
      last.push((late.at(-1) ?? Number.NaN) / 1000);
      median.push((late[Math.floor(late.length / 2)] ?? Number.NaN) / 1000);
    }
    return [
      {
        name: 'last of 1,000 submitted after its tick',
        unit: 's',
        samples: last,
        target: { bound: 'at most', value: 60 },
      },
      { name: 'median submitted after its tick', unit: 's', samples: median },
    ];
  },
};

/** How long after the tick each run was submitted, in order. */
async function oneRound(bench: Bench): Promise<number[]> {
  const folder = await mkdtemp(join(bench.folder, 'schedules-'));
  const tick = new Date(Math.ceil((Date.now() + AHEAD_MS) / 1000) * 1000);
  await writeSchedules(folder, tick);
  const server = await startHeadgate(folder, '--schedules', join(folder, 'schedules'));
  try {
    if (Date.now() >= tick.getTime())
      throw new Error('the server took longer to start than there was');
    await pause(tick.getTime() - Date.now());
    while ((await started(server.url)) < SCHEDULES) await pause(POLL_MS);
    await untilIdle(server.url, POLL_MS);
    const runs = await allRuns(server.url);
    const names = new Set(runs.map(({ labels }) => labels['schedule']));
    if (runs.length !== SCHEDULES || names.size !== SCHEDULES)
      throw new Error(`${runs.length} runs of ${names.size} schedules`);
    return runs
      .map(({ submitted_at }) => Date.parse(submitted_at) - tick.getTime())
      .sort((a, b) => a - b);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeSchedules(folder: string, tick: Date): Promise<void> {
  await mkdir(join(folder, 'schedules'));
  await mkdir(join(folder, 'out'));
  await writeFile(join(folder, 'in.csv'), 'id\n1\n');
  const cron = `${tick.getUTCSeconds()} ${tick.getUTCMinutes()} ${tick.getUTCHours()} * * *`;
  for (let n = 0; n < SCHEDULES; n++) {
    const pipeline = {
      source: { type: 'csv', config: { path: 'in.csv' } },
      sink: { type: 'jsonl', config: { path: `out/${n}.jsonl` } },
    };
    const document = JSON.stringify({ version: 1, schedule: { cron }, pipeline });
    await writeFile(join(folder, 'schedules', `s${n}.json`), document);
  }
}

/** Schedules that have started a run. */
async function started(url: string): Promise<number> {
  const { schedules } = (await (await fetch(`${url}/v1/schedules`)).json()) as {
    schedules: { last_run: unknown }[];
  };
  return schedules.filter(({ last_run: run }) => run !== null).length;
}

async function allRuns(url: string): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  for (let cursor = ''; ;) {
    const page = (await (await fetch(`${url}/v1/runs?limit=${PAGE}${cursor}`)).json()) as {
      runs: ListedRun[];
      next_cursor: string | null;
    };
    found.push(...page.runs);
    if (page.next_cursor === null) return found;
    cursor = `&cursor=${page.next_cursor}`;
  }
}
