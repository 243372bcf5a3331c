/**
 * Rows that run several times, through the engine: what starts, what is told, and what a failure or
 * a stop leaves.
 */
import { describe, expect, it } from 'vitest';
import { StopReason } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import { partitionSchema } from '../../blocks/partition/schema.ts';
import { cut } from '../../blocks/partition/chunks.ts';
import type { PartitionPlan } from '../../blocks/partition/plan.ts';
import type { FanOutPlan, Plan, PlannedRow } from '../../plan/plan.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  connectionLost,
  fakeSink,
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
  type Trace,
} from '../../../test/fakes/plan.ts';
import type { ExecuteOptions } from '../engine.ts';
import { execute } from '../execute.ts';

function run(plan: Plan, overrides: Partial<ExecuteOptions> = {}): Promise<RunOutcome> {
  const signal = new AbortController().signal;
  return execute({
    plan,
    parts: noParts,
    env: testEnv(),
    runId: 'run-1',
    clock: new Date('2026-01-31T00:00:00Z'),
    signal,
    ...overrides,
  });
}

const recordsOf = (...values: JsonValue[]) => [{ records: values.map((code) => ({ code })) }];

function fanOut(
  id: string,
  source: SourceDefinition,
  overrides: Partial<FanOutPlan> = {},
): FanOutPlan {
  const links = { dependsOn: overrides.forEach ?? [], forEach: [], collected: [], collect: false };
  const value = { source: part(source), select: ['code'], alias: 'code', retry: undefined };
  return {
    role: 'discovery',
    id,
    index: -1,
    ...links,
    ...value,
    weight: undefined,
    tags: [],
    status: 'active',
    ...overrides,
  };
}

function product(
  id: string,
  forEach: readonly string[],
  overrides: Partial<PlannedRow> = {},
  source = fakeSource([{ records: [{ n: 1 }] }]),
): PlannedRow {
  return plannedRow(source, fakeSink().definition, {
    id,
    role: 'product',
    forEach,
    dependsOn: forEach,
    ...overrides,
  });
}

function partitionOf(spec: unknown, overrides: Partial<PartitionPlan> = {}): PartitionPlan {
  const parsed = partitionSchema.parse(spec);
  const result = typeof (parsed as { to?: unknown }).to === 'object' ? undefined : cut(parsed);
  return {
    path: 'partition',
    spec: parsed,
    chunks: result !== undefined && 'chunks' in result ? result.chunks : undefined,
    probe: undefined,
    ...overrides,
  };
}

const told = (outcome: RunOutcome) =>
  outcome.invocations.map((one) => [one.row_id, one.parent_record_key, one.status]);

describe('a fan-out row', () => {
  it('reads its source once for all who need it, and tells what became of its records', async () => {
    const trace: Trace = [];
    const regions = fanOut('regions', fakeSource(recordsOf('eu', null, 'us', 'eu'), { trace }));
    const outcome = await run(
      planOf([product('a', ['regions']), product('b', ['regions'])], { fanOuts: [regions] }),
    );
    expect(trace.filter((what) => what.startsWith('read'))).toHaveLength(1);
    expect(told(outcome)).toEqual([
      ['regions', null, 'completed'],
      ['a', 'code=eu', 'completed'],
      ['a', 'code=us', 'completed'],
      ['b', 'code=eu', 'completed'],
      ['b', 'code=us', 'completed'],
    ]);
    expect(outcome.invocations[0]).toMatchObject({
      sink: '',
      balance: { read: 4, filtered: 2, transformed: 2, withheld: 2, written: 0 },
    });
    expect(outcome.records_written).toBe(4);
  });

  it('that lists nothing leaves rows without work, and the run is no failure', async () => {
    const outcome = await run(
      planOf([product('a', ['regions', 'years'])], {
        fanOuts: [fanOut('regions', fakeSource([])), fanOut('years', fakeSource(recordsOf(1)))],
      }),
    );
    expect(outcome.status).toBe('completed');
    expect(told(outcome)).toEqual([
      ['regions', null, 'completed'],
      ['years', null, 'completed'],
    ]);
  });

  it('that fails has its rows skipped, and only the failure counts', async () => {
    const outcome = await run(
      planOf([product('a', ['regions'])], {
        fanOuts: [fanOut('regions', fakeSource([], { failAfter: connectionLost() }))],
      }),
    );
    expect(told(outcome)).toEqual([
      ['regions', null, 'failed'],
      ['a', null, 'skipped'],
    ]);
    expect(outcome.error?.message).toBe(
      '1 invocation(s) failed: regions: source `fake`: the connection was lost',
    );
  });

  it('lists no more values than a row may have tuples', async () => {
    const endless = fakeSource(
      Array.from({ length: 30 }, (_, page) => ({
        records: Array.from({ length: 1000 }, (__, at) => ({ code: page * 1000 + at })),
      })),
    );
    const outcome = await run(
      planOf([product('a', ['regions'])], { fanOuts: [fanOut('regions', endless)] }),
    );
    expect(outcome.invocations[0]).toMatchObject({
      status: 'failed',
      error: { code: 'product_too_large' },
      balance: { read: 11_000 },
    });
  });

  it('with `collect` lists again for every tuple', async () => {
    const regions = fanOut('regions', fakeSource(recordsOf('eu', 'us')));
    const cities = fanOut('cities', fakeSource(recordsOf('x', 'y')), {
      index: 0,
      forEach: ['regions'],
      dependsOn: ['regions'],
      collect: true,
    });
    const sales = product('sales', ['regions'], {
      dependsOn: ['regions', 'cities'],
      collected: ['cities'],
    });
    const outcome = await run(planOf([sales], { fanOuts: [regions, cities] }));
    expect(told(outcome).filter(([row]) => row === 'cities')).toEqual([
      ['cities', 'code=eu', 'completed'],
      ['cities', 'code=us', 'completed'],
    ]);
    expect(outcome.status).toBe('completed');
  });
});

describe('a row with tuples', () => {
  it('keeps a bookmark for each, under a key that a store can hold', async () => {
    const values = new Map<string, JsonValue>();
    const source = fakeSource([{ records: [{ n: 1 }], bookmark: 7 }]);
    const row = product(
      'sales',
      ['regions'],
      { state: part(fakeState(values)), stateKey: 'test::sales' },
      source,
    );
    await run(
      planOf([row], { fanOuts: [fanOut('regions', fakeSource(recordsOf('e/u', 'a b&c=')))] }),
    );
    expect([...values.keys()]).toEqual(['test::sales::code=e/u', 'test::sales::code=a%20b%26c%3D']);
  });

  it('tells of every tuple how it ended when one fails and others are stopped', async () => {
    const failing = fakeSource([], { failAfter: connectionLost() });
    const plan = planOf([product('a', ['regions'], {}, failing)], {
      fanOuts: [fanOut('regions', fakeSource(recordsOf(1, 2, 3)))],
      onError: 'stop',
      maxConcurrent: 1,
    });
    const outcome = await run(plan);
    expect(told(outcome).slice(1)).toEqual([
      ['a', 'code=1', 'failed'],
      ['a', 'code=2', 'cancelled'],
      ['a', 'code=3', 'cancelled'],
    ]);
    expect(outcome.status).toBe('failed');
  });

  it('is cancelled as a whole: what had not started moved nothing', async () => {
    const stop = new AbortController();
    const sink = fakeSink({ onWrite: () => stop.abort(new StopReason('cancel', 'asked')) });
    const row = plannedRow(fakeSource([{ records: [{ n: 1 }] }]), sink.definition, {
      id: 'a',
      role: 'product',
      forEach: ['regions'],
      dependsOn: ['regions'],
    });
    const outcome = await run(
      planOf([row], {
        fanOuts: [fanOut('regions', fakeSource(recordsOf(1, 2, 3)))],
        maxConcurrent: 1,
      }),
      {
        signal: stop.signal,
      },
    );
    expect(outcome.status).toBe('cancelled');
    expect(
      outcome.invocations.slice(1).map(({ status, balance }) => [status, balance.read]),
    ).toEqual([
      ['cancelled', 1],
      ['cancelled', 0],
      ['cancelled', 0],
    ]);
  });

  it('starts ten thousand of them a few at a time', async () => {
    let open = 0;
    let most = 0;
    const source: SourceDefinition = {
      ...fakeSource([]),
      open: () => {
        open += 1;
        most = Math.max(most, open);
        return Promise.resolve({
          async *pages() {},
          close: () => Promise.resolve(void (open -= 1)),
        });
      },
    };
    const values = Array.from({ length: 100 }, (_, index) => index);
    const fanOuts = ['x', 'y'].map((id) => fanOut(id, fakeSource(recordsOf(...values))));
    const outcome = await run(
      planOf([product('a', ['x', 'y'], {}, source)], { fanOuts, maxConcurrent: 4 }),
    );
    expect([outcome.status, outcome.invocations.length, most, open]).toEqual([
      'completed',
      10_002,
      4,
      0,
    ]);
    expect(outcome.invocations.at(-1)?.parent_record_key).toBe('code=99&code=99');
  });
});

describe('a partitioned row', () => {
  const range = { kind: 'integer', from: 1, to: 10, chunk_size: 4, bounds: 'inclusive' };
  const unknown = { ...range, to: { from_source: { type: 'fake' }, value_path: '$.max' } };
  const probing = (...records: JsonValue[]): Partial<PartitionPlan> => ({
    probe: { source: part(fakeSource([{ records }])), valuePath: '$.max' },
  });
  const row = (partition: PartitionPlan, overrides: Partial<PlannedRow> = {}): PlannedRow =>
    plannedRow(fakeSource([{ records: [{ n: 1 }], bookmark: 1 }]), fakeSink().definition, {
      id: 'orders',
      stateKey: 'test::orders',
      partition,
      ...overrides,
    });

  it('runs once for each chunk, with a state key of its own', async () => {
    const values = new Map<string, JsonValue>();
    const outcome = await run(
      planOf([row(partitionOf(range), { state: part(fakeState(values)) })]),
    );
    expect(outcome.invocations.map((one) => one.row_id)).toEqual(
      [0, 1, 2].map((index) => `orders::partition::${index}`),
    );
    expect([...values.keys()].sort()).toEqual(
      [0, 1, 2].map((index) => `test::orders::partition::${index}`),
    );
  });

  it('asks for a bound that the document does not know, once', async () => {
    expect(
      (await run(planOf([row(partitionOf(unknown, probing({ max: 5 })))]))).invocations,
    ).toHaveLength(2);
    expect(
      (await run(planOf([row(partitionOf(unknown, probing({ max: '5' })))]))).invocations,
    ).toHaveLength(2);
  });

  it.each([
    ['no record', [], 'gave no record'],
    ['null', [{ max: null }], 'no whole number but null'],
    ['nothing there', [{ min: 1 }], 'nothing at `$.max`'],
    ['a fraction', [{ max: 1.5 }], 'no whole number but 1.5'],
    ['less than its start', [{ max: 0 }], 'below `from`'],
  ])('fails where the source gives %s', async (_what, records, message) => {
    const outcome = await run(
      planOf([row(partitionOf(unknown, probing(...(records as JsonValue[]))))]),
    );
    expect(outcome.invocations).toMatchObject([
      { row_id: 'orders', status: 'failed', error: { code: 'partition_bound', kind: 'Source' } },
    ]);
    expect(outcome.error?.message).toContain(message);
  });

  const failing = (beforePage: () => void) => ({
    probe: {
      source: part(fakeSource([{ records: [] }], { beforePage, failAfter: connectionLost() })),
      valuePath: '$.max',
    },
  });

  it('is cancelled while it asks for a bound, and that is no failure', async () => {
    const stop = new AbortController();
    const asking = failing(() => stop.abort(new StopReason('cancel', 'asked')));
    const outcome = await run(planOf([row(partitionOf(unknown, asking))]), { signal: stop.signal });
    expect(outcome).toMatchObject({ status: 'cancelled', error: null });
    expect(told(outcome)).toEqual([['orders', null, 'cancelled']]);
  });

  it('stops the others when it cannot learn its bound, where the document says so', async () => {
    const other = plannedRow(fakeSource([{ records: [{ n: 1 }] }]), fakeSink().definition, {
      id: 'other',
    });
    const plan = planOf(
      [
        row(
          partitionOf(
            unknown,
            failing(() => {}),
          ),
        ),
        other,
      ],
      { onError: 'stop', maxConcurrent: 1 },
    );
    expect(told(await run(plan))).toEqual([
      ['orders', null, 'failed'],
      ['other', null, 'cancelled'],
    ]);
  });

  it('has nothing to do, and is no failure, where there are no records to offset', async () => {
    const outcome = await run(
      planOf([row(partitionOf({ kind: 'offset', total: 0, chunk_size: 5 }))]),
    );
    expect([outcome.status, outcome.invocations]).toEqual(['completed', []]);
  });

  it('runs for each of its tuples, too', async () => {
    const both = product('a', ['regions'], { partition: partitionOf(range), stateKey: 'test::a' });
    const outcome = await run(
      planOf([both], { fanOuts: [fanOut('regions', fakeSource(recordsOf('eu', 'us')))] }),
    );
    expect(told(outcome).slice(1, 4)).toEqual(
      [0, 1, 2].map((index) => [`a::partition::${index}`, 'code=eu', 'completed']),
    );
    expect(outcome.invocations).toHaveLength(7);
  });

  it('fails with one of its chunks, of which the others are finished', async () => {
    let opened = 0;
    const fails: SourceDefinition = {
      ...fakeSource([{ records: [{ n: 1 }] }]),
      open: (...given) => {
        opened += 1;
        return (
          opened === 2
            ? fakeSource([], { failAfter: connectionLost() })
            : fakeSource([{ records: [{ n: 1 }] }])
        ).open(...given);
      },
    };
    const outcome = await run(
      planOf([row(partitionOf(range), { source: part(fails) })], { maxConcurrent: 1 }),
    );
    expect([outcome.status, outcome.invocations.map(({ status }) => status)]).toEqual([
      'failed',
      ['completed', 'failed', 'completed'],
    ]);
  });
});
