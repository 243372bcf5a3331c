import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { FakeClock, rest } from '../../../test/support/runs.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { MemoryTriggers } from '../../history/memory/memory-triggers.ts';
import { defineTrigger, type LookRequest, type Watcher } from '../../kit/trigger.ts';
import { ConfigError, ConnectorError, RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { How } from '../../runs/service/runs.ts';
import type { Submission } from '../../wire/run.ts';
import { UnfitEvent } from './fill-tokens.ts';
import type { LoadedTrigger } from './load-triggers.ts';
import { createTriggers } from './triggers.ts';

/** A system whose events are numbers, and a server that watches it. */
function setting({
  store = new MemoryTriggers(),
  runs = new Map<string, string>(),
  system = { count: 0, isAway: false, isSilent: false },
  params = undefined as JsonObject | undefined,
} = {}) {
  const clock = new FakeClock();
  const env = testEnv({ clock });
  const requests: LookRequest[] = [];
  let closed = 0;
  const watcher: Watcher = {
    async look(request) {
      requests.push(request);
      if (system.isSilent)
        await new Promise((done) => request.signal.addEventListener('abort', done, { once: true }));
      if (system.isAway) throw new ConnectorError('connection', 'the system is away');
      const known = typeof request.memory === 'number' ? request.memory : 0;
      const keys = Array.from(
        { length: system.count - known },
        (_, n) => `trig:w:${known + n + 1}`,
      );
      return {
        events: keys.map((key) => ({ key, labels: {}, value: () => key })),
        memoryAfter: (taken) => known + taken,
      };
    },
    close: () => Promise.resolve(void (closed += 1)),
  };
  const definition = defineTrigger({
    type: 'numbers',
    description: 'Numbers.',
    fields: () => z.strictObject({}),
    examples: [],
    tokens: () => [],
    starts: () => 'numbers',
    secrets: () => [],
    events: { by: 'watching', intervalSecs: () => 10, open: () => Promise.resolve(watcher) },
  });
  const trigger = (config: object = {}): LoadedTrigger => ({
    path: 'triggers[0]',
    name: 'w',
    enabled: true,
    definition,
    config,
    target: { kind: 'document', document: 'a.yaml' },
    run: {},
    runs:
      params === undefined
        ? { kind: 'text', config: '{}' }
        : { kind: 'template', template: { id: 't', params } },
  });
  const refuse: { error?: Error; only?: string } = {};
  const submit = async (
    { idempotency_key: key }: Pick<Submission, 'idempotency_key'>,
    _caller: unknown,
    how: How = {},
  ) => {
    await Promise.resolve();
    if (refuse.error !== undefined && (refuse.only ?? key) === key) throw refuse.error;
    const known = runs.get(key ?? '');
    const run_id = known ?? `run-${runs.size + 1}`;
    runs.set(key ?? '', run_id);
    how.onAdmitted?.(known === undefined ? 'new' : 'repeated');
    return { run_id, status: 'queued' as const, submitted_at: '' };
  };
  const triggers = createTriggers({
    env,
    audit: { record: () => Promise.resolve() },
    store,
    runs: { submit },
    runTemplate: (_id, request, { caller, how }) => submit(request, caller, how),
    loaded: { triggers: [trigger()], warnings: [] },
  });
  return {
    clock,
    env,
    requests,
    runs,
    store,
    system,
    refuse,
    triggers,
    trigger,
    closed: () => closed,
    health: () => triggers.health()?.[0],
    after: async (seconds: number) => {
      await clock.advance(seconds * 1000);
      await rest();
    },
  };
}

const full = new RefusedError('queue_full', 'the queue is full');

describe('a watched trigger', () => {
  test('looks at every interval, and starts a run for each event', async () => {
    const { triggers, system, runs, after, requests, health } = setting();
    system.count = 2;
    await triggers.start();
    await rest();
    expect([...runs.keys()]).toEqual(['trig:w:1', 'trig:w:2']);
    await after(9);
    expect(requests).toHaveLength(1);
    system.count = 3;
    await after(1);
    expect([requests.length, runs.size, requests[1]?.memory]).toEqual([2, 3, 2]);
    expect(health()).toMatchObject({ healthy: true, last_fire: expect.any(String) });
    await triggers.close();
  });

  test('keeps an event for which there is no room, and looks again soon', async () => {
    const { triggers, system, runs, after, refuse, health } = setting();
    system.count = 2;
    refuse.error = full;
    await triggers.start();
    await rest();
    expect([runs.size, health()?.consecutive_failures]).toEqual([0, 0]);
    delete refuse.error;
    await after(5);
    expect([...runs.keys()]).toEqual(['trig:w:1', 'trig:w:2']);
    await triggers.close();
  });

  test('waits longer and longer while the system is away, says so, and loses nothing', async () => {
    const { triggers, system, runs, after, requests, health } = setting();
    system.isAway = true;
    await triggers.start();
    await rest();
    expect(health()).toMatchObject({ healthy: true, consecutive_failures: 1 });
    await after(10);
    await after(20);
    expect(health()).toMatchObject({
      healthy: false,
      consecutive_failures: 3,
      last_error: 'the system is away',
    });
    const looks = requests.length;
    await after(39);
    expect(requests.length).toBe(looks);
    await after(1);
    expect(requests.length).toBe(looks + 1);
    // The wait is not doubled beyond a minute.
    await after(59);
    expect(requests.length).toBe(looks + 1);
    system.isAway = false;
    system.count = 1;
    await after(1);
    expect([...runs.keys()]).toEqual(['trig:w:1']);
    expect(health()).toMatchObject({ healthy: true, consecutive_failures: 0, last_error: null });
    expect(requests[0]?.awaySince).toBeUndefined();
    expect(requests.at(-1)?.awaySince).toEqual(new Date('2026-08-01T12:00:00Z'));
    await triggers.close();
  });

  test('is unhealthy when its runs are refused, and tries the same event again', async () => {
    const { triggers, system, runs, after, refuse, health } = setting();
    system.count = 1;
    refuse.error = new RefusedError('unprocessable', 'the document is wrong');
    await triggers.start();
    for (const seconds of [0, 10, 20]) await after(seconds);
    expect(health()).toMatchObject({ healthy: false, last_error: 'the document is wrong' });
    delete refuse.error;
    await after(60);
    expect([runs.size, health()?.healthy]).toEqual([1, true]);
    await triggers.close();
  });

  test.each([
    ['a value that cannot stand in the document', new UnfitEvent('it holds a NUL character'), {}],
    [
      'no value of a parameter',
      new ConfigError([{ code: 'param_type', path: 'params.n', message: 'of another type' }]),
      { n: '${trigger.object_key}' },
    ],
  ])('has no run for an event that says %s, and goes on', async (_, error, params) => {
    const { triggers, system, runs, after, refuse, health, env } = setting({ params });
    system.count = 2;
    refuse.error = error;
    refuse.only = 'trig:w:1';
    await triggers.start();
    for (const seconds of [0, 10, 20]) await after(seconds);
    expect([...runs.keys()]).toEqual(['trig:w:2']);
    expect(health()).toMatchObject({ healthy: true, consecutive_failures: 0, last_error: null });
    const warnings = env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);
    expect(warnings).toEqual([expect.stringMatching(/no run is started.* event=trig:w:1 /)]);
    await triggers.close();
  });

  test('keeps an event whose parameters are wrong, whatever it says', async () => {
    const { triggers, system, runs, after, refuse, health } = setting({ params: { n: 'x' } });
    system.count = 2;
    refuse.error = new ConfigError([
      { code: 'param_type', path: 'params.n', message: 'of another type' },
    ]);
    await triggers.start();
    await after(0);
    expect([runs.size, health()?.consecutive_failures]).toEqual([0, 1]);
    await triggers.close();
  });

  test('goes on after a restart where it was', async () => {
    const before = setting();
    before.system.count = 2;
    await before.triggers.start();
    await rest();
    await before.triggers.close();
    before.system.count = 3;
    const later = setting(before);
    await later.triggers.start();
    await rest();
    expect(later.requests[0]?.memory).toBe(2);
    expect([...later.runs.keys()]).toEqual(['trig:w:1', 'trig:w:2', 'trig:w:3']);
    await later.triggers.close();
  });

  test('on two servers that notice an event at once starts one run', async () => {
    const one = setting();
    one.system.count = 3;
    const other = setting(one);
    await Promise.all([one.triggers.start(), other.triggers.start()]);
    await rest();
    expect(one.runs.size).toBe(3);
    one.system.count = 4;
    await Promise.all([one.after(10), other.after(10)]);
    expect([...one.runs.values()]).toEqual(['run-1', 'run-2', 'run-3', 'run-4']);
    await Promise.all([one.triggers.close(), other.triggers.close()]);
  });

  test('is not started again by a reload that does not change it, and ends when it is gone', async () => {
    const { triggers, trigger, requests, closed, after } = setting();
    await triggers.start();
    await rest();
    triggers.replace({ triggers: [{ ...trigger(), run: { name: 'other' } }], warnings: [] });
    await rest();
    expect([requests.length, closed()]).toEqual([1, 0]);
    triggers.replace({ triggers: [trigger({ other: 1 })], warnings: [] });
    await rest();
    expect([requests.length, closed()]).toEqual([2, 1]);
    triggers.replace({ triggers: [], warnings: [] });
    await rest();
    await after(100);
    expect([requests.length, closed(), triggers.health()]).toEqual([2, 2, []]);
    await triggers.close();
  });

  test('holds a start up for a few seconds at most', async () => {
    const { triggers, after, system } = setting();
    system.isSilent = true;
    let isOver = false;
    const begun = triggers.start().then(() => (isOver = true));
    await after(2);
    expect(isOver).toBe(false);
    await after(1);
    await begun;
    await triggers.close();
  });
});
