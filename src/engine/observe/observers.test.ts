import { describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { eventClock } from '../../../test/fakes/event-clock.ts';
import { fakeSink, fakeSource, noParts, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import type { Env } from '../../lib/env.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { execute } from '../execute.ts';
import type { RunObserver } from './observer.ts';

const pages = [{ records: [{ id: 1 }, { id: 2 }], bookmark: 2 }];

function run(
  rows: readonly PlannedRow[],
  observers: readonly RunObserver[],
  {
    env = testEnv(),
    signal = new AbortController().signal,
  }: { readonly env?: Env; readonly signal?: AbortSignal } = {},
) {
  const clock = new Date('2026-01-31T00:00:00Z');
  return execute({
    plan: planOf([...rows]),
    parts: noParts,
    env,
    runId: 'run-1',
    clock,
    signal,
    observers,
  });
}

function listener(): { readonly heard: string[]; readonly observer: RunObserver } {
  const heard: string[] = [];
  const observer: RunObserver = {
    name: 'listener',
    runStarted: ({ runId, dryRun }) =>
      void heard.push(`run ${runId} starts, ${dryRun ? 'dry' : 'for real'}`),
    rowStarted: ({ name }) => void heard.push(`row ${name} starts`),
    rowEnded: ({ name }, { status, balance }) =>
      void heard.push(`row ${name} ${status}, ${balance.written} written`),
    runEnded: ({ status }) => void heard.push(`run ${status}`),
  };
  return { heard, observer };
}

describe('an observer', () => {
  it('is told what a run does, from its start to its end', async () => {
    const { heard, observer } = listener();
    await run([plannedRow(fakeSource(pages), fakeSink().definition)], [observer]);
    expect(heard).toEqual([
      'run run-1 starts, for real',
      'row row-0 starts',
      'row row-0 completed, 2 written',
      'run completed',
    ]);
  });

  it('is told of failures', async () => {
    const { heard, observer } = listener();
    const { definition } = fakeSink({
      onWrite: () => {
        throw new ConnectorError('data', 'the disk is full');
      },
    });
    await run([plannedRow(fakeSource(pages), definition)], [observer]);
    expect(heard.slice(2)).toEqual(['row row-0 failed, 0 written', 'run failed']);
  });

  it('that takes its time is told the next thing when it is done with the last', async () => {
    const heard: string[] = [];
    const first = Promise.withResolvers<void>();
    const slow: RunObserver = {
      name: 'slow',
      rowStarted: async () => {
        heard.push('begins with the start');
        await first.promise;
        heard.push('is done with the start');
      },
      rowEnded: () => {
        heard.push('the end');
      },
    };
    const outcome = run(
      [plannedRow(fakeSource(pages), fakeSink().definition)],
      [{ name: 'last', rowEnded: () => first.resolve() }, slow],
    );
    expect((await outcome).status).toBe('completed');
    expect(heard).toEqual(['begins with the start', 'is done with the start', 'the end']);
  });

  it('that fails changes nothing about the run, and is told the rest', async () => {
    const env = testEnv();
    const { heard, observer } = listener();
    const broken: RunObserver = {
      ...observer,
      name: 'broken',
      rowStarted: () => {
        throw new Error('nobody home');
      },
    };
    const outcome = await run([plannedRow(fakeSource(pages), fakeSink().definition)], [broken], {
      env,
    });
    expect(outcome.status).toBe('completed');
    expect(heard.at(-1)).toBe('run completed');
    expect(env.lines.filter(({ line }) => line.includes('nobody home'))).toHaveLength(1);
  });

  it('is waited for some time only once the run is to stop', async () => {
    const clock = eventClock();
    const env = testEnv({ clock });
    const stop = new AbortController();
    const deaf: RunObserver = { name: 'deaf', runEnded: () => new Promise<void>(() => {}) };
    let ended: string | undefined;
    const running = run([plannedRow(fakeSource(pages), fakeSink().definition)], [deaf], {
      env,
      signal: stop.signal,
    });
    void running.then(({ status }) => (ended = status));
    await clock.pass(3_600_000);
    expect(ended).toBeUndefined();
    stop.abort();
    await clock.pass(9999);
    expect(ended).toBeUndefined();
    await clock.pass(1);
    expect(ended).toBe('completed');
    expect(env.lines.some(({ line }) => line.includes('before all observers were notified'))).toBe(
      true,
    );
  });
});
