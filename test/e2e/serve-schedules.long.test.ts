/** A thousand schedules that are due in the same minute, and a server that is killed meanwhile. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunRecord } from '../../src/wire/run.ts';
import { workshop, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const SCHEDULES = 1000;
const MINUTE_MS = 60_000;
/** A server reads its schedules before the tick comes. */
const AHEAD_MS = 30_000;
const WAIT = { timeout: 150_000, interval: 100 };

const shop = workshop();
beforeAll(() => {
  for (const folder of ['schedules', 'out']) mkdirSync(shop.path(folder));
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
});
afterAll(() => shop.dispose());

/** The next whole minute for which there is time to prepare. */
function nextTick(): Date {
  return new Date(Math.ceil((Date.now() + AHEAD_MS) / MINUTE_MS) * MINUTE_MS);
}

function writeSchedules(tick: Date): void {
  const cron = `${tick.getUTCMinutes()} ${tick.getUTCHours()} * * *`;
  for (let n = 0; n < SCHEDULES; n += 1) {
    const pipeline = {
      source: { type: 'csv', config: { path: 'in.csv' } },
      sink: { type: 'jsonl', config: { path: `out/${n}.jsonl` } },
    };
    const document = { version: 1, schedule: { cron }, pipeline };
    writeFileSync(shop.path(`schedules/s${n}.json`), JSON.stringify(document));
  }
}

const start = (): Promise<Program> =>
  shop.start({ args: ['--schedules', shop.path('schedules'), '--max-queued-runs', '100'] });

async function allRuns(server: Program): Promise<readonly RunRecord[]> {
  const found: RunRecord[] = [];
  for (let cursor: string | null = null; ;) {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await server.list(`?limit=500${more}`);
    found.push(...page.runs);
    cursor = page.next_cursor;
    if (cursor === null) return found;
  }
}

test(
  'all of them are submitted within the minute, each once, though the server is killed among them',
  { timeout: 300_000 },
  async () => {
    const tick = nextTick();
    writeSchedules(tick);
    const first = await start();
    await eventually(() => expect(readdirSync(shop.path('out')).length).toBeGreaterThan(200), WAIT);
    await first.stop('SIGKILL');
    const before = readdirSync(shop.path('out')).length;
    expect(before).toBeLessThan(SCHEDULES);

    const next = await start();
    await eventually(async () => {
      const listed = (await next.call('GET', '/v1/schedules')).text;
      expect(listed.match(/"status":"(completed|failed)"/g)?.length).toBe(SCHEDULES);
    }, WAIT);
    const runs = await allRuns(next);
    expect(runs).toHaveLength(SCHEDULES);
    expect(new Set(runs.map(({ labels }) => labels['schedule'])).size).toBe(SCHEDULES);
    expect(new Set(runs.map(({ labels }) => labels['tick']))).toEqual(
      new Set([tick.toISOString()]),
    );
    const last = Math.max(...runs.map(({ submitted_at }) => Date.parse(submitted_at)));
    console.info(
      `${before} runs had ended before the kill; the last was submitted ${(last - tick.getTime()) / 1000} s after the tick`,
    );
    expect(last - tick.getTime()).toBeLessThan(MINUTE_MS);
    // A run that was under way when its server was killed is failed, and no other.
    const failed = runs.filter(({ status }) => status !== 'completed');
    for (const { error } of failed) expect(error).toMatch(/interrupted|lease/);
    expect(failed.length).toBeLessThan(20);
    expect(await next.stop()).toBe(0);
  },
);
