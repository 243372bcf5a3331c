import { describe, expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { fakeSink, fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { StopReason } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { runUnits, type BackfillRun, type UnitResult } from './run-units.ts';
import type { UnitWork } from './unit-work.ts';

const KEY = 'orders::__backfill__::0123456789abcdef';

interface Script {
  readonly ids?: readonly string[];
  readonly values?: Map<string, JsonValue>;
  readonly fails?: readonly string[];
  readonly again?: BackfillRun['again'];
  /** Stops everything when this unit runs. */
  readonly stopAt?: string;
  readonly concurrency?: number;
  readonly seed?: JsonValue;
}

async function backfill({
  ids = ['a', 'b', 'c'],
  values = new Map(),
  fails = [],
  again = 'refuse',
  stopAt,
  concurrency = 1,
  seed,
}: Script) {
  const ran: string[] = [];
  const told: UnitResult[] = [];
  const stop = new AbortController();
  const store = {
    get: (key: string) => Promise.resolve(values.get(key)),
    put: (key: string, value: JsonValue) => Promise.resolve(void values.set(key, value)),
    delete: (key: string) => Promise.resolve(void values.delete(key)),
    close: () => Promise.resolve(),
  };
  const row = plannedRow(fakeSource([]), fakeSink().definition);
  const units = ids.map((id): UnitWork => ({
    id,
    start: `${id}-start`,
    end: `${id}-end`,
    clock: new Date(0),
    seed,
    plan: () => planOf([{ ...row, stateKey: `orders::backfill::${id}` }]),
  }));
  const execute = (unit: UnitWork): Promise<RunOutcome> => {
    ran.push(
      `${unit.id} from ${JSON.stringify(values.get(`orders::backfill::${unit.id}`) ?? null)}`,
    );
    values.set(`orders::backfill::${unit.id}`, 'halfway');
    if (unit.id === stopAt) stop.abort(new StopReason('cancel', 'stopped'));
    const failed = fails.includes(unit.id);
    const status = unit.id === stopAt ? 'cancelled' : failed ? 'failed' : 'completed';
    const error = failed
      ? { code: 'test', kind: 'Custom' as const, message: 'no such table' }
      : null;
    return Promise.resolve({
      pipeline: 'orders',
      status,
      started_at: '',
      finished_at: '',
      records_written: 2,
      invocations: [],
      error,
    });
  };
  const place = { store, key: KEY, descriptor: 'time|x' };
  const env = testEnv();
  const results = await runUnits({
    env,
    pipeline: 'orders',
    units,
    place,
    concurrency,
    again,
    signal: stop.signal,
    execute,
    onUnit: (result) => told.push(result),
  });
  return { ran, values, told, results: results.map(({ unit, status }) => `${unit} ${status}`) };
}

describe('the units of a backfill', () => {
  test('run in order, and are remembered one by one', async () => {
    const { ran, values, results, told } = await backfill({});
    expect(ran).toEqual(['a from null', 'b from null', 'c from null']);
    expect(results).toEqual(['a done', 'b done', 'c done']);
    expect(values.get(KEY)).toEqual({
      descriptor: 'time|x',
      units: { a: 'done', b: 'done', c: 'done' },
    });
    expect(told[0]).toMatchObject({
      unit: 'a',
      start: 'a-start',
      end: 'a-end',
      status: 'done',
      records_written: 2,
    });
  });

  test('go on when one fails', async () => {
    const { values, results, told } = await backfill({ fails: ['b'] });
    expect(results).toEqual(['a done', 'b failed', 'c done']);
    expect(told[1]?.error).toBe('no such table');
    expect(values.get(KEY)).toMatchObject({ units: { b: { failed: 'no such table' } } });
  });

  test('are not run a second time by mistake', async () => {
    const { values } = await backfill({ fails: ['b'] });
    await expect(backfill({ values })).rejects.toThrow('2 of 3 units are done, 1 failed');
  });

  test('are resumed: units that are done are skipped, interrupted ones continue', async () => {
    const { values, results } = await backfill({ stopAt: 'b' });
    expect(results).toEqual(['a done', 'b interrupted', 'c pending']);
    expect(values.get(KEY)).toEqual({ descriptor: 'time|x', units: { a: 'done', b: 'running' } });
    const again = await backfill({ values, again: 'resume' });
    expect(again.ran).toEqual(['b from "halfway"', 'c from null']);
    expect(again.results).toEqual(['a skipped', 'b done', 'c done']);
  });

  test('are all run again when the backfill is restarted, from their beginning', async () => {
    const { values } = await backfill({});
    const again = await backfill({ values, again: 'restart' });
    expect(again.ran).toEqual(['a from null', 'b from null', 'c from null']);
    expect(values.get(KEY)).toMatchObject({ restarts: 1 });
  });

  test('do not go on from a bookmark that another backfill left under the same name', async () => {
    const values = new Map<string, JsonValue>([['orders::backfill::a', 'elsewhere']]);
    expect((await backfill({ ids: ['a'], values })).ran).toEqual(['a from null']);
  });

  test('begin at the bookmark they are given, once', async () => {
    const { values, ran } = await backfill({ ids: ['a'], seed: 7, stopAt: 'a' });
    expect(ran).toEqual(['a from 7']);
    expect((await backfill({ ids: ['a'], seed: 7, values, again: 'resume' })).ran).toEqual([
      'a from "halfway"',
    ]);
  });

  test('run several at a time, and what is remembered holds them all', async () => {
    const { results, values } = await backfill({ concurrency: 3, fails: ['a'] });
    expect(results).toEqual(['a failed', 'b done', 'c done']);
    expect(values.get(KEY)).toMatchObject({
      units: { a: { failed: 'no such table' }, b: 'done', c: 'done' },
    });
  });

  test('need a record that can be read', async () => {
    const values = new Map<string, JsonValue>([[KEY, { units: { a: 'perhaps' } }]]);
    await expect(backfill({ values, again: 'resume' })).rejects.toThrow(
      'is not a record of a backfill',
    );
  });
});
