/** Runs that are claimed or started before there is a slot for them. */
import { describe, expect, test, vi } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { aRun } from '../../../test/conformance/history.ts';
import { FakeClock, rest, ScriptedExecutor, storedSubmission } from '../../../test/support/runs.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import { HistoryHealth } from './history-health.ts';
import { LiveRuns } from './live-runs.ts';

const OPTIONS = { owner: 'me', leaseTtlSecs: 4, slots: 1, capacity: 8, onChange: () => {} };
const SERVICES = {
  isLevelChosen: false,
  outputsExpire: undefined,
  follow: () => () => {},
  flushLog: () => Promise.resolve(),
  stopGraceMs: 1000,
  giveUp: new AbortController().signal,
  onOver: () => {},
  onRecorded: () => {},
};

/** A server with one slot, whose history takes a while to record that a run starts. */
async function slowStarts() {
  const clock = new FakeClock();
  const env = testEnv({ clock });
  const executor = new ScriptedExecutor();
  const history = new MemoryHistory();
  const start = history.startRun.bind(history);
  vi.spyOn(history, 'startRun').mockImplementation(async (fence, startedAt) => {
    await clock.sleep(50);
    return start(fence, startedAt);
  });
  const putBack = history.returnToQueue.bind(history);
  const puttingBack = vi.spyOn(history, 'returnToQueue').mockImplementation(async (fence) => {
    await clock.sleep(200);
    return putBack(fence);
  });
  const live = new LiveRuns({
    ...OPTIONS,
    services: {
      ...SERVICES,
      env,
      health: new HistoryHealth(history, env),
      executor,
    },
  });
  /** Runs of a server that is gone enter the queue. */
  const enter = async (...ids: string[]): Promise<void> => {
    const content = JSON.stringify(storedSubmission());
    for (const [order, id] of ids.entries()) {
      const submitted_at = new Date(clock.now().getTime() + order).toISOString();
      const run = aRun(id, { owner: 'gone', submitted_at });
      await history.admit(run, { submission: { content } });
    }
    await live.adopt();
    await rest();
  };
  const statusOf = async (id: string): Promise<string | undefined> =>
    (await history.getRun(id))?.status;
  // From these it learns how long that takes, and how short runs are.
  for (let n = 0; n < 20; n += 1) {
    await enter(`short-${n}`);
    await clock.advance(50);
    executor.last.finish();
    await rest();
  }
  return { clock, executor, live, history, puttingBack, enter, statusOf };
}

/** A server with one slot that shares its runs with others. */
function sharingRuns() {
  const clock = new FakeClock();
  const env = testEnv({ clock });
  const executor = new ScriptedExecutor();
  const released: string[] = [];
  const live = new LiveRuns({
    ...OPTIONS,
    services: {
      ...SERVICES,
      env,
      health: new HistoryHealth(new MemoryHistory(), env),
      executor,
      release: async ({ run_id }) => released.push(run_id) > 0,
    },
  });
  const claim = async (
    id: string,
    { submitted_at, ...submission }: { submitted_at?: string; timeout_secs?: number } = {},
  ): Promise<void> => {
    const started_at = clock.now().toISOString();
    const submitted = submitted_at === undefined ? {} : { submitted_at };
    const run = aRun(id, { status: 'running', started_at, owner: 'me', ...submitted });
    const content = JSON.stringify({ ...storedSubmission(), ...submission });
    await live.enterClaimed({ run, claim: 1, submission: { content } }, 10_000);
    await rest();
  };
  /** A run that takes so long. */
  const execute = async (id: string, ms: number): Promise<void> => {
    await claim(id);
    await clock.advance(ms);
    executor.last.finish();
    await rest();
  };
  return { clock, executor, live, released, claim, execute };
}

test('runs that are short let the next ones be claimed ahead, until half of these have begun', async () => {
  const { live, claim, execute } = sharingRuns();
  expect(live.ahead).toBe(0);
  await execute('short', 20);
  expect([live.free, live.ahead]).toEqual([1, 5]);
  for (const id of ['a', 'b', 'c']) await claim(id);
  expect([live.free, live.ahead, live.inFlight]).toEqual([0, 3, 1]);
  await claim('d');
  expect(live.ahead).toBe(0);
});

test('what was claimed ahead begins when the slot is free', async () => {
  const { clock, executor, live, released, claim } = sharingRuns();
  await claim('a');
  await claim('b');
  await clock.advance(200);
  executor.last.finish();
  await rest();
  expect([...live.all.keys()]).toEqual(['b']);
  await clock.advance(1000);
  expect(live.inFlight).toBe(1);
  expect(released).toEqual([]);
});

test('what was claimed ahead of a run that takes long is given back to the other servers', async () => {
  const { clock, live, released, claim, execute } = sharingRuns();
  await execute('short', 20);
  await claim('long');
  await claim('waits');
  await clock.advance(249);
  expect(released).toEqual([]);
  await clock.advance(251);
  expect(released).toEqual(['waits']);
  expect([...live.all.keys()]).toEqual(['long']);
  expect(live.ahead).toBe(0);
});

test('what was claimed ahead takes no place from submissions', async () => {
  const { live, claim } = sharingRuns();
  for (let n = 0; n <= 9; n += 1) await claim(`run-${n}`);
  expect(live.full).toBe(false);
  const places = Array.from({ length: 8 }, () => live.reserve());
  expect(live.full).toBe(true);
  for (const place of places) place.release();
  live.hold();
  expect(live.full).toBe(false);
  await rest();
});

test('a server that starts nothing any more gives back what it claimed ahead', async () => {
  const { live, released, claim } = sharingRuns();
  await claim('a');
  await claim('b');
  live.hold();
  await rest();
  expect(released).toEqual(['b']);
});

test('what was claimed ahead is not late because its server has another clock', async () => {
  const { clock, executor, live, claim } = sharingRuns();
  await claim('a');
  const submitted_at = new Date(clock.now().getTime() - 300_000).toISOString();
  await claim('b', { submitted_at, timeout_secs: 60 });
  await clock.advance(100);
  executor.last.finish();
  await rest();
  expect([...live.all.keys()]).toEqual(['b']);
  expect(live.inFlight).toBe(1);
});

describe('where it takes a while to record that a run starts', () => {
  test('the next run is started before the slot is free, and begins at once', async () => {
    const { clock, executor, live, enter, statusOf } = await slowStarts();
    await enter('a', 'b');
    await clock.advance(50);
    expect([await statusOf('a'), await statusOf('b'), live.inFlight]).toEqual([
      'running',
      'running',
      1,
    ]);
    executor.last.finish();
    await rest();
    expect(executor.last.job.id).toBe('b');
  });

  test('one whose slot is not free in time waits in the queue again, and begins later', async () => {
    const { clock, executor, enter, statusOf } = await slowStarts();
    await enter('long', 'b');
    await clock.advance(50);
    expect(await statusOf('b')).toBe('running');
    await clock.advance(700);
    expect(await statusOf('b')).toBe('queued');
    executor.last.finish();
    await clock.advance(50);
    expect(executor.last.job.id).toBe('b');
    expect(await statusOf('b')).toBe('running');
  });

  test('one that gets its slot while it is put back into the queue is started again', async () => {
    const { clock, executor, puttingBack, enter, statusOf } = await slowStarts();
    await enter('long', 'b');
    while (puttingBack.mock.calls.length === 0) await clock.advance(10);
    executor.last.finish();
    await clock.advance(300);
    expect(executor.last.job.id).toBe('b');
    expect(await statusOf('b')).toBe('running');
  });

  test('one that is cancelled ends with the time of its start', async () => {
    const { clock, live, history, enter } = await slowStarts();
    await enter('long', 'b');
    const run = live.get('b');
    const stopped = run === undefined ? undefined : live.stop(run, 'cancel');
    await clock.advance(50);
    await stopped;
    expect(await history.getRun('b')).toMatchObject({
      status: 'cancelled',
      started_at: expect.any(String) as string,
    });
  });

  test('a server that starts nothing any more leaves it to the next one', async () => {
    const { clock, executor, live, enter, statusOf } = await slowStarts();
    await enter('long', 'b');
    live.hold();
    const idle = live.idle();
    await clock.advance(300);
    expect([await statusOf('long'), await statusOf('b')]).toEqual(['running', 'queued']);
    expect([...live.all.keys()]).toEqual(['long']);
    executor.last.finish();
    await idle;
    expect(live.all.size).toBe(0);
  });
});
