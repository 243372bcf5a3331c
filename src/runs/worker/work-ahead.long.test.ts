/** Jobs that one worker is given before it has answered the first. */
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { runJobOf } from '../../../test/support/scripted-worker/job.ts';
import type { JobEnd } from '../../wire/job.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import type { JobExecutor, JobHandle } from './executor.ts';
import { createWorkerPool, type WorkerPoolOptions } from './worker-pool.ts';

const ENTRY = fileURLToPath(
  new URL('../../../test/support/scripted-worker/worker.ts', import.meta.url),
);
const AHEAD = { jobs: 16, workers: 3 };
const pools: JobExecutor[] = [];

/** One process works ahead, as far as it may, however long jobs take. */
function pool(options: Partial<WorkerPoolOptions> = {}): JobExecutor {
  const made = createWorkerPool({
    env: testEnv(),
    entry: ENTRY,
    maxWorkers: 4,
    heapMb: 64,
    quickWorkers: 1,
    aheadMs: Number.POSITIVE_INFINITY,
    longWaitMs: Number.POSITIVE_INFINITY,
    ...options,
  });
  pools.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((one) => one.close()));
});

interface Asked {
  readonly handle: JobHandle;
  readonly events: RunEvent[];
  readonly begun: Promise<void>;
}

let asked = 0;

function ask(executor: JobExecutor, name: string, ahead: boolean = true): Asked {
  const events: RunEvent[] = [];
  const begun = Promise.withResolvers<void>();
  const hear = (event: RunEvent): void => {
    events.push(event);
    if (event.kind === 'begun') begun.resolve();
  };
  asked += 1;
  const job = runJobOf(name, `job-${asked}`);
  const handle = executor.start(job, hear, ahead ? AHEAD : undefined);
  return { handle, events, begun: begun.promise };
}

const askAll = (executor: JobExecutor, names: readonly string[]): Asked[] =>
  names.map((name) => ask(executor, name));

const endsOf = (all: readonly Asked[]): Promise<JobEnd[]> =>
  Promise.all(all.map(({ handle }) => handle.done));

const typesOf = async (all: readonly Asked[]): Promise<string[]> =>
  (await endsOf(all)).map((end) => (end.type === 'crashed' ? end.why : end.type));

function countOf(end: JobEnd | undefined): number {
  if (end?.type !== 'finished') throw new Error(`it ended otherwise: ${JSON.stringify(end)}`);
  return (end.answer as RunOutcome).records_written;
}

const times = (count: number, name: string): string[] => Array<string>(count).fill(name);

/** Until two processes of the pool are ready. */
async function twoProcesses(executor: JobExecutor): Promise<void> {
  for (;;) {
    const both = await endsOf([ask(executor, 'slow', false), ask(executor, 'slow', false)]);
    if (new Set(both.map(countOf)).size === 2) return;
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Each began once and told what it has to tell once: no two workers were heard of one job. */
function expectHeardOnce(all: readonly Asked[]): void {
  for (const { events } of all) {
    expect(events.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
    const lines = events.flatMap((event) => (event.kind === 'log' ? event.lines : []));
    expect(lines.filter(({ line }) => line.includes('pipeline run starting'))).toHaveLength(1);
  }
}

describe('jobs ahead', () => {
  it('are executed one after the other by one process, which is told of many at a time', async () => {
    const executor = pool();
    await endsOf([ask(executor, 'pid')]);
    const order: number[] = [];
    const all = askAll(executor, [...times(15, 'pid'), 'messages', ...times(20, 'pid')]);
    for (const [index, { handle }] of all.entries()) void handle.done.then(() => order.push(index));
    const ends = await endsOf(all);
    expect(order).toEqual(all.map((_, index) => index));
    // That of the first job, and one with sixteen.
    expect(countOf(ends[15])).toBe(2);
    expect(new Set(ends.filter((_, index) => index !== 15).map(countOf)).size).toBe(1);
    expectHeardOnce(all);
  });

  it('begin when those before them have ended', async () => {
    const executor = pool();
    const [first, second, third] = askAll(executor, ['patient', 'quick', 'quick']);
    await first?.begun;
    expect([second, third].map((one) => one?.events)).toEqual([[], []]);
    first?.handle.stop('cancel', 60_000);
    expect(await typesOf([first, second, third].filter((one) => one !== undefined))).toEqual(
      times(3, 'finished'),
    );
  });

  it('tell their own log lines and measurements', async () => {
    const all = askAll(pool(), ['quick', 'chatty', 'quick']);
    await endsOf(all);
    const lines = all.map(({ events }) =>
      events.flatMap((event) => (event.kind === 'log' ? event.lines : [])),
    );
    expect(lines.map(({ length }) => length)).toEqual([1, 5001, 1]);
    const labels = all.map(({ events }) =>
      events.flatMap((event) =>
        event.kind === 'metrics' ? event.changes.map((change) => change.labels['pipeline']) : [],
      ),
    );
    expect(labels.map((some) => [...new Set(some)])).toEqual([['quick'], ['chatty'], ['quick']]);
  });

  it('do not wait behind jobs of which a worker has one at a time, nor those behind them', async () => {
    const executor = pool();
    const [head, behind] = askAll(executor, ['patient', 'quick']);
    await head?.begun;
    const alone = ask(executor, 'patient', false);
    await alone.begun;
    expect(behind?.events).toEqual([]);
    const more = ask(executor, 'quick');
    alone.handle.stop('cancel', 60_000);
    await alone.handle.done;
    head?.handle.stop('cancel', 60_000);
    expect(await typesOf([more])).toEqual(['finished']);
  });

  it('have a further process when they have waited for long', async () => {
    const executor = pool({ longWaitMs: 0, aheadMs: 0 });
    const all = askAll(executor, times(4, 'patient'));
    await Promise.all(all.slice(0, 3).map(({ begun }) => begun));
    // No more than are allowed.
    expect(all[3]?.events).toEqual([]);
  });

  it('are left to others when a process has had its share', async () => {
    const ends = await endsOf(askAll(pool({ jobsPerWorker: 5 }), times(12, 'pid')));
    expect(new Set(ends.map(countOf)).size).toBe(3);
  });

  it('all end when the pool is closed', async () => {
    const executor = pool();
    const all = askAll(executor, ['spinning', 'quick', 'quick']);
    await all[0]?.begun;
    await executor.close();
    expect((await endsOf(all)).map(({ type }) => type)).toEqual(times(3, 'crashed'));
  });
});

describe('a job with others behind it', () => {
  it.each([
    ['exiting', 'died'],
    ['throwing', 'died'],
    ['greedy', 'memory'],
  ])('fails alone when it ends its process: %s', async (name, why) => {
    const all = askAll(pool(), ['quick', 'quick', name, 'pid', 'pid', 'pid']);
    const order: Asked[] = [];
    for (const one of all) void one.begun.then(() => order.push(one));
    expect(await typesOf(all)).toEqual(['finished', 'finished', why, ...times(3, 'finished')]);
    expect(order).toEqual(all);
    expectHeardOnce(all);
  });

  it('holds up none of them when it is slow, and they are executed once', async () => {
    const executor = pool({ spares: 0 });
    await twoProcesses(executor);
    // That of the process that is asked first.
    const [before] = await endsOf([ask(executor, 'executed')]);
    const all = askAll(executor, ['quick', 'slow', 'pid', 'pid']);
    const [, slow, ...behind] = all;
    await slow?.begun;
    slow?.handle.giveWay();
    const pids = (await endsOf(behind)).map(countOf);
    expect(pids).not.toContain(countOf(await slow?.handle.done));
    expectHeardOnce(all);
    const [after] = await endsOf([ask(executor, 'executed')]);
    expect(countOf(after) - countOf(before)).toBe(3);
  });

  it('is executed though it gives way before its process has begun it', async () => {
    const executor = pool();
    await endsOf([ask(executor, 'quick')]);
    // After a slow one a process waits for a moment before it begins the next.
    const all = askAll(executor, ['slow', 'quick', 'pid']);
    await all[1]?.begun;
    all[1]?.handle.giveWay();
    expect(await typesOf(all)).toEqual(times(3, 'finished'));
    expectHeardOnce(all);
  });

  it('has its process ended when that hangs at a job that others were given', async () => {
    const executor = pool();
    const [slow, spinning, last] = askAll(executor, ['slow', 'spinning', 'pid']);
    await expect.poll(() => slow?.events.length, { timeout: 20_000 }).toBeGreaterThan(1);
    // Until the process has ended the slow one and begun the next, without this one hearing of it.
    const later = performance.now() + 1000;
    while (performance.now() < later);
    slow?.handle.giveWay();
    const pid = countOf(await slow?.handle.done);
    await spinning?.begun;
    spinning?.handle.stop('timeout', 0);
    expect((await spinning?.handle.done)?.type).toBe('crashed');
    expect(countOf(await last?.handle.done)).not.toBe(pid);
    await expect.poll(() => isGone(pid), { timeout: 20_000 }).toBe(true);
  });

  it('holds up none of them when it never ends, until it is ended by force', async () => {
    const all = askAll(pool(), ['quick', 'spinning', ...times(6, 'pid')]);
    const spinning = all[1];
    await spinning?.begun;
    spinning?.handle.stop('timeout', 0);
    expect(await typesOf(all)).toEqual(['finished', 'stopped', ...times(6, 'finished')]);
    expectHeardOnce(all.filter((one) => one !== spinning));
  });

  it('keeps its process when it gives way to nobody', async () => {
    const executor = pool();
    const slow = ask(executor, 'slow');
    await slow.begun;
    slow.handle.giveWay();
    const pid = countOf(await slow.handle.done);
    expect(countOf((await endsOf([ask(executor, 'pid')]))[0])).toBe(pid);
  });
});

describe('a job behind another that nobody waits for any more', () => {
  it('ends at once; those behind it are executed', async () => {
    const executor = pool();
    const all = askAll(executor, ['patient', 'quick', 'pid']);
    await all[0]?.begun;
    all[1]?.handle.stop('cancel', 60_000);
    expect(await all[1]?.handle.done).toEqual({
      type: 'crashed',
      reason: 'it had not started yet',
      why: 'stopped',
    });
    all[0]?.handle.stop('cancel', 60_000);
    expect(await typesOf(all)).toEqual(['finished', 'stopped', 'finished']);
    expect(all[1]?.events).toEqual([]);
  });

  it('cannot hold them up, though its worker executes it', async () => {
    const executor = pool();
    await endsOf([ask(executor, 'quick')]);
    const all = askAll(executor, ['slow', 'spinning', 'pid', 'pid']);
    all[1]?.handle.stop('cancel', 0);
    expect(await typesOf(all)).toEqual(['finished', 'stopped', 'finished', 'finished']);
    expect(all[1]?.events).toEqual([]);
  });
});
