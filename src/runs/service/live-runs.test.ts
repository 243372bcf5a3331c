/** Runs that are claimed before there is a slot for them. */
import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { aRun } from '../../../test/conformance/history.ts';
import { FakeClock, rest, ScriptedExecutor, storedSubmission } from '../../../test/support/runs.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import { HistoryHealth } from './history-health.ts';
import { LiveRuns } from './live-runs.ts';

/** A server with one slot that shares its runs with others. */
function sharingRuns() {
  const clock = new FakeClock();
  const env = testEnv({ clock });
  const executor = new ScriptedExecutor();
  const released: string[] = [];
  const live = new LiveRuns({
    owner: 'me',
    leaseTtlSecs: 4,
    slots: 1,
    capacity: 8,
    onChange: () => {},
    services: {
      env,
      health: new HistoryHealth(new MemoryHistory(), env),
      executor,
      isLevelChosen: false,
      outputsExpire: undefined,
      follow: () => () => {},
      flushLog: () => Promise.resolve(),
      stopGraceMs: 1000,
      giveUp: new AbortController().signal,
      onOver: () => {},
      onRecorded: () => {},
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
