/** Random graphs of units: what starts, when, how many at a time, and what a failure means. */
import * as fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { Scheduler, type Ended, type SchedulerOptions, type WorkUnit } from './scheduler.ts';

type Fate = 'completes' | 'fails' | 'cannot expand' | 'has no tasks';

interface UnitSpec {
  readonly fate: Fate;
  /** Indexes of earlier units. */
  readonly dependsOn: readonly number[];
  readonly tasks: number;
  /** Turns of the event loop that a task takes. */
  readonly turns: number;
  readonly weight: number | undefined;
}

const unitSpec = fc.record({
  fate: fc.oneof(
    { weight: 5, arbitrary: fc.constant<Fate>('completes') },
    fc.constant<Fate>('fails'),
    fc.constant<Fate>('cannot expand'),
    fc.constant<Fate>('has no tasks'),
  ),
  dependsOn: fc.array(fc.nat(20), { maxLength: 3 }),
  tasks: fc.integer({ min: 1, max: 4 }),
  turns: fc.integer({ min: 0, max: 3 }),
  weight: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
});

/** Dependencies lead to earlier units only, so there is no cycle. */
const graph = fc.array(unitSpec, { minLength: 1, maxLength: 12 }).map((specs) =>
  specs.map((spec, index): UnitSpec => ({
    ...spec,
    dependsOn: index === 0 ? [] : [...new Set(spec.dependsOn.map((at) => at % index))],
  })),
);

const slots = fc.integer({ min: 1, max: 4 });
const orders = fc.constantFrom('declared' as const, 'lpt' as const);

interface Result extends Ended {
  readonly unit: string;
}

/** Runs the graph and keeps what happened, in order. */
async function schedule(
  specs: readonly UnitSpec[],
  overrides: Partial<SchedulerOptions> = {},
  onTask: () => void = () => {},
) {
  const events: string[] = [];
  const ended = new Map<number, Ended['status']>();
  let running = 0;
  let most = 0;
  const scheduler = new Scheduler<Result>({
    maxConcurrent: 2,
    onError: 'continue',
    order: 'declared',
    signal: new AbortController().signal,
    killSignal: undefined,
    stopGraceMs: 1000,
    noun: 'row',
    log: testEnv().log,
    ...overrides,
  });
  scheduler.stop.addEventListener('abort', () => events.push('stopped'));
  const unitOf = (spec: UnitSpec, index: number): WorkUnit<Result> => {
    const unit = String(index);
    let left = spec.fate === 'has no tasks' ? 0 : spec.tasks;
    if (left === 0) ended.set(index, 'completed');
    const end = (status: Ended['status']): Result => {
      left -= 1;
      if (ended.get(index) !== 'failed') ended.set(index, status);
      events.push(`end ${unit}`);
      return { unit, status };
    };
    const run = async (): Promise<Result> => {
      running += 1;
      most = Math.max(most, running);
      events.push(`run ${unit}`);
      onTask();
      for (let turn = 0; turn < spec.turns; turn += 1) await setImmediate();
      running -= 1;
      return end(spec.fate === 'fails' ? 'failed' : 'completed');
    };
    return {
      id: unit,
      dependsOn: spec.dependsOn.map(String),
      weight: spec.weight,
      expand: async (inSlot) => {
        await inSlot(async () => {
          running += 1;
          most = Math.max(most, running);
          await setImmediate();
          running -= 1;
        });
        events.push(`expand ${unit}`);
        if (spec.fate === 'cannot expand') throw new Error('no tasks today');
        return Array.from({ length: left }, () => ({ run, cancelled: () => end('cancelled') }));
      },
      notStarted: ({ status }) => {
        ended.set(index, status);
        events.push(`${status} ${unit}`);
        return { unit, status };
      },
    };
  };
  const outcomes = await scheduler.run(specs.map(unitOf));
  return { outcomes, events, most, statusOf: (index: number) => ended.get(index) };
}

const fails = ({ fate }: UnitSpec): boolean => fate === 'fails' || fate === 'cannot expand';

/** Whether something that it depends on, directly or not, fails. */
function isDescendantOfFailure(specs: readonly UnitSpec[], index: number): boolean {
  return (specs[index]?.dependsOn ?? []).some((at) => {
    const spec = specs[at];
    return (spec !== undefined && fails(spec)) || isDescendantOfFailure(specs, at);
  });
}

describe('any graph of units', () => {
  it('expands each unit at most once and runs each task once, after its dependencies', async () => {
    await fc.assert(
      fc.asyncProperty(graph, slots, orders, async (specs, maxConcurrent, order) => {
        const { events, most, outcomes } = await schedule(specs, { maxConcurrent, order });
        expect(most).toBeLessThanOrEqual(maxConcurrent);
        expect(outcomes.map(({ unit }) => Number(unit))).toEqual(
          outcomes.map(({ unit }) => Number(unit)).toSorted((one, other) => one - other),
        );
        for (const [index, spec] of specs.entries()) {
          const of = (what: string): number =>
            events.filter((event) => event === `${what} ${index}`).length;
          const isSkipped = isDescendantOfFailure(specs, index);
          const runs = fails(spec) && spec.fate !== 'fails' ? 0 : spec.tasks;
          expect(of('expand')).toBe(isSkipped ? 0 : 1);
          expect(of('run')).toBe(isSkipped || spec.fate === 'has no tasks' ? 0 : runs);
          const start = events.indexOf(`expand ${index}`);
          for (const at of start < 0 ? [] : spec.dependsOn)
            expect(events.lastIndexOf(`end ${at}`)).toBeLessThan(start);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('skips exactly the descendants of units that fail', async () => {
    await fc.assert(
      fc.asyncProperty(graph, async (specs) => {
        const { statusOf } = await schedule(specs);
        for (const [index, spec] of specs.entries())
          expect(statusOf(index)).toBe(
            isDescendantOfFailure(specs, index) ? 'skipped' : fails(spec) ? 'failed' : 'completed',
          );
      }),
      { numRuns: 150 },
    );
  });

  it('starts nothing after a stop, and gives every unit an outcome', async () => {
    await fc.assert(
      fc.asyncProperty(graph, fc.nat(8), async (specs, after) => {
        const stop = new AbortController();
        let tasks = 0;
        const { events, outcomes } = await schedule(specs, { signal: stop.signal }, () => {
          tasks += 1;
          if (tasks > after) stop.abort();
        });
        expect(tasks).toBeLessThanOrEqual(after + 1);
        expect(events.filter((event) => event.startsWith('run')).length).toBe(tasks);
        const told = new Set(outcomes.map(({ unit }) => Number(unit)));
        for (const [index, { fate }] of specs.entries())
          expect(told.has(index) || fate === 'has no tasks').toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('with `stop` runs no task once a unit has failed', async () => {
    await fc.assert(
      fc.asyncProperty(graph, async (specs) => {
        const { events } = await schedule(specs, { onError: 'stop' });
        const failed = specs.some(
          ({ fate }, index) =>
            (fate === 'fails' && events.includes(`run ${index}`)) ||
            events.includes(`failed ${index}`),
        );
        const stopped = events.indexOf('stopped');
        expect(stopped >= 0).toBe(failed);
        if (failed) expect(events.slice(stopped).join()).not.toContain('run');
      }),
      { numRuns: 100 },
    );
  });
});

describe('heaviest first', () => {
  const weights = [undefined, 1, 3, undefined, 2];
  const specs = weights.map((weight): UnitSpec => ({
    fate: 'completes',
    dependsOn: [],
    tasks: 1,
    turns: 0,
    weight,
  }));
  const started = async (order: 'declared' | 'lpt') =>
    (await schedule(specs, { order, maxConcurrent: 1 })).events
      .filter((event) => event.startsWith('expand'))
      .map((event) => Number(event.split(' ')[1]));

  it('starts by weight, and in the order given where weights are the same or absent', async () => {
    expect(await started('lpt')).toEqual([2, 4, 1, 0, 3]);
    expect(await started('declared')).toEqual([0, 1, 2, 3, 4]);
  });
});

it('units that do not stop in time after a failure are ended', async () => {
  const killed = Promise.withResolvers<void>();
  const scheduler = new Scheduler<Result>({
    maxConcurrent: 2,
    onError: 'stop',
    order: 'declared',
    signal: new AbortController().signal,
    killSignal: undefined,
    stopGraceMs: 5,
    noun: 'node',
    log: testEnv().log,
  });
  scheduler.kill.addEventListener('abort', () => killed.resolve());
  const unit = (id: string, run: () => Promise<Ended['status']>): WorkUnit<Result> => ({
    id,
    dependsOn: [],
    expand: async () => [
      {
        run: async () => ({ unit: id, status: await run() }),
        cancelled: () => ({ unit: id, status: 'cancelled' }),
      },
    ],
    notStarted: ({ status }) => ({ unit: id, status }),
  });
  const outcomes = await scheduler.run([
    unit('deaf', async () => {
      await killed.promise;
      return 'cancelled';
    }),
    unit('broken', async () => 'failed'),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['cancelled', 'failed']);
  expect(scheduler.kill.reason).toMatchObject({ message: 'the nodes did not stop in time' });
});
