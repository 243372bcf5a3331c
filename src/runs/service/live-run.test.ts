/** A claimed run: what its server says and does for it while others may take it over. */
import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { aRun } from '../../../test/conformance/history.ts';
import {
  FakeClock,
  outcomeOf,
  rest,
  ScriptedExecutor,
  storedSubmission,
} from '../../../test/support/runs.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import { HistoryHealth } from './history-health.ts';
import { LiveRun } from './live-run.ts';

/** A run that was claimed for ten seconds and executes. */
interface Given {
  readonly started_at?: string;
  readonly timeout_secs?: number;
  readonly spentMs?: number;
}

async function claimedRun(given: Given = {}) {
  const clock = new FakeClock();
  const history = new MemoryHistory();
  const { started_at = clock.now().toISOString(), timeout_secs = null, spentMs = 0 } = given;
  const run = aRun('a', { status: 'running', started_at });
  await history.admit(run, {});
  const heard: string[] = [];
  const env = testEnv({ clock });
  const executor = new ScriptedExecutor();
  const live = new LiveRun(
    {
      run,
      identity: { run_id: 'a', name: 'orders', measured_as: null },
      fence: { run_id: 'a', owner: run.owner, attempt: run.attempt },
      submission: { ...storedSubmission(), timeout_secs },
      base: null,
      callback: undefined,
      claimed: { number: 2, trustedUntil: 10_000, spentMs },
    },
    {
      env,
      health: new HistoryHealth(history, env),
      executor,
      isLevelChosen: false,
      outputsExpire: undefined,
      follow: () => (event: RunEvent) => void heard.push(event.kind),
      flushLog: () => Promise.resolve(),
      stopGraceMs: 1000,
      noteStart: () => {},
      giveUp: new AbortController().signal,
      onOver: () => {},
      onRecorded: () => void heard.push('recorded'),
    },
  );
  const over = live.execute().then((end) => live.record(end));
  await rest();
  const isOwned = (): boolean | undefined => {
    executor.last.hear({ kind: 'asks_owner', question: 1 });
    return executor.last.answers.at(-1);
  };
  return {
    clock,
    history,
    live,
    over,
    executor,
    /** Its execution here. */
    get last() {
      return executor.last;
    },
    heard,
    isOwned,
  };
}

test('a worker is told that the run is its own for as long as no other server can have it', async () => {
  const { clock, live, isOwned, heard } = await claimedRun();
  expect(isOwned()).toBe(true);
  await clock.advance(9_999);
  expect(isOwned()).toBe(true);
  live.trust(15_000);
  await clock.advance(5000);
  expect(isOwned()).toBe(true);
  await clock.advance(1);
  expect(isOwned()).toBe(false);
  expect(heard).not.toContain('asks_owner');
});

test.each(['lose', 'loseTouch'] as const)('it is not after `%s`, whatever comes', async (how) => {
  const { live, isOwned } = await claimedRun();
  live[how]();
  live.trust(60_000);
  expect(isOwned()).toBe(false);
});

test('that a worker failed which was told so is not the end of the run', async () => {
  const { clock, history, isOwned, last, over, heard } = await claimedRun();
  await clock.advance(10_000);
  expect(isOwned()).toBe(false);
  last.finish(outcomeOf({ status: 'failed' }));
  await over;
  expect((await history.getRun('a'))?.status).toBe('running');
  expect(heard).not.toContain('ended');
});

test.each(['2026-07-31T23:40:00.000Z', '2030-01-01T00:00:00.000Z'])(
  'a run that the database started at %s took as long as it did, whatever the clock here says',
  async (started_at) => {
    const { clock, history, last, over } = await claimedRun({ started_at });
    await clock.advance(7000);
    last.finish();
    await over;
    const finished = (await history.getRun('a'))?.finished_at ?? '';
    expect(Date.parse(finished) - Date.parse(started_at)).toBe(7000);
  },
);

test.each(['lose', 'loseTouch', 'giveBack'] as const)(
  'that a worker was killed because of `%s` is no error in the log of the run',
  async (how) => {
    const { live, last, over, heard } = await claimedRun();
    live[how]();
    const before = [...heard];
    last.end({ type: 'crashed', reason: 'it was ended by force' });
    await over;
    expect(heard).toEqual(before);
  },
);

test('that a worker died by itself is', async () => {
  const { last, over, heard } = await claimedRun();
  const before = heard.length;
  last.end({ type: 'crashed', reason: 'it is out of memory' });
  await over;
  expect(heard.slice(before)).toEqual(expect.arrayContaining(['crashed', 'log', 'ended']));
});

test('a run that is given back is its own until its worker has stopped', async () => {
  const { live, isOwned } = await claimedRun();
  live.giveBack();
  expect(isOwned()).toBe(true);
});

test('what a run moved is said when its end is on record', async () => {
  const { last, over, heard } = await claimedRun();
  last.hear({ kind: 'moved', movements: [] });
  expect(heard).not.toContain('moved');
  last.finish();
  await over;
  expect(heard.filter((kind) => kind !== 'log' && kind !== 'begun')).toEqual([
    'moved',
    'recorded',
    'ended',
  ]);
});

test('of an execution whose end is refused nothing is said: no catalog, no callback, no end', async () => {
  const { history, last, over, heard } = await claimedRun();
  const other = { run_id: 'a', owner: 'one', attempt: 0 };
  const { nodes: _none, ...outcome } = outcomeOf();
  const ending = { ...outcome, finished_at: '2026-08-01T12:00:01.000Z', error: null };
  await history.finishRun(other, { ...ending, status: 'completed', invocations: [] });
  last.hear({ kind: 'moved', movements: [] });
  last.finish();
  await over;
  expect(heard.filter((kind) => kind !== 'log' && kind !== 'begun')).toEqual([]);
});

test('a shard has what is left of the time of its run, and does not begin when that is over', async () => {
  const some = await claimedRun({ timeout_secs: 3, spentMs: 2000 });
  await some.clock.advance(999);
  expect(some.last.stops).toEqual([]);
  await some.clock.advance(1);
  expect(some.last.stops).toMatchObject([{ why: 'timeout' }]);
  const none = await claimedRun({ timeout_secs: 3, spentMs: 3000 });
  await none.over;
  expect(none.executor.started).toEqual([]);
  expect(await none.history.getRun('a')).toMatchObject({
    status: 'failed',
    error: 'the run did not finish within its timeout_secs of 3: it had not started yet',
  });
});
