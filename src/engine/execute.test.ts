import { describe, expect, it } from 'vitest';
import { ConnectorError, StopReason } from '../lib/errors.ts';
import { Page } from '../kit/page.ts';
import type { JsonValue } from '../lib/text/json.ts';
import type { Plan, PlannedRow } from '../plan/plan.ts';
import type { RunOutcome } from '../wire/outcome.ts';
import { testEnv } from '../../test/fakes/env.ts';
import {
  connectionLost,
  dlqPlan,
  fakeSink,
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
  type Trace,
} from '../../test/fakes/plan.ts';
import type { ExecuteOptions } from './engine.ts';
import { execute } from './execute.ts';
import { openLogins } from './logins.ts';
import { ExecutionFence } from './row/execution-fence.ts';

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

/** Says when it is asked and when it has stored, which is not before `when`. */
function slowState(trace: Trace, when: Promise<void>): ReturnType<typeof fakeState> {
  const state = fakeState(new Map(), trace);
  return {
    ...state,
    open: async (config, context) => {
      const store = await state.open(config, context);
      const put = async (key: string, value: JsonValue): Promise<void> => {
        await store.put(key, value);
        await when;
        trace.push(`stored ${JSON.stringify(value)}`);
      };
      return { ...store, put };
    },
  };
}

const pages = [
  { records: [{ id: 1 }, { id: 2 }], bookmark: 2 },
  { records: [{ id: 3 }], bookmark: 3 },
];

it('says that servers took the run up before, because its log counts only what it moves itself', async () => {
  const plan = planOf([plannedRow(fakeSource([]), fakeSink().definition)]);
  const linesOf = async (claim: number): Promise<string> => {
    const env = testEnv();
    const fence = new ExecutionFence(claim, () => Promise.resolve(true), env.clock);
    await run(plan, { env, fence });
    return env.lines.map(({ line }) => line).join('\n');
  };
  expect(await linesOf(1)).not.toContain('took this run up');
  expect(await linesOf(3)).toMatch(/servers took this run up before: .* times_before=2/);
});

describe('a failure', () => {
  it.each([
    ['the same', 'the stream broke', 0],
    ['another', 'the disk is full', 1],
  ])(
    'that leads to %s one on the way out is told once, and what is new about it beside it',
    async (_what, second, warnings) => {
      const broken = (message: string) => new ConnectorError('data', message);
      const { definition } = fakeSink({
        onWrite: () => {
          throw broken('the stream broke');
        },
      });
      const leaving: typeof definition = {
        ...definition,
        open: async (config, context) => ({
          ...(await definition.open(config, context)),
          flush: () => Promise.reject(broken(second)),
        }),
      };
      const env = testEnv();
      const outcome = await run(planOf([plannedRow(fakeSource(pages), leaving)]), { env });
      expect(outcome.invocations[0]?.error?.message).toContain('the stream broke');
      expect(env.lines.filter(({ line }) => line.includes('another failure while'))).toHaveLength(
        warnings,
      );
    },
  );
});

describe('who calls', () => {
  it('may say in which zone the clock is told, and share logins between runs', async () => {
    const seen: unknown[] = [];
    const source = fakeSource(pages);
    const watched: typeof source = {
      ...source,
      open: (config, context) => {
        seen.push(config, context.credentials);
        return source.open(config, context);
      },
    };
    const row = {
      ...plannedRow(watched, fakeSink().definition),
      source: { ...part(watched, { at: '${now.iso}' }), deferred: true },
    };
    const credentials = openLogins(
      { plan: planOf([]), parts: noParts, env: testEnv() },
      new AbortController().signal,
    );
    await run(planOf([row]), { zone: 'Asia/Tokyo', credentials });
    await run(planOf([row]));
    expect(seen.slice(0, 3)).toEqual([
      { at: '2026-01-31T09:00:00+09:00' },
      credentials,
      { at: '2026-01-31T00:00:00+00:00' },
    ]);
    expect(seen[1]).toBe(credentials);
    expect(seen[3]).not.toBe(credentials);
  });
});

describe('one row', () => {
  it('flushes, stores the bookmark and only then acknowledges, page by page', async () => {
    const trace: Trace = [];
    const values = new Map<string, JsonValue>();
    const sink = fakeSink({ trace });
    const row = plannedRow(fakeSource(pages, { trace }), sink.definition, {
      state: part(fakeState(values, trace)),
    });
    const outcome = await run(planOf([row]));
    expect(outcome).toMatchObject({ status: 'completed', records_written: 3, error: null });
    expect(trace).toEqual([
      'read from null',
      'write 2',
      'flush',
      'put 2',
      'ack 2',
      'write 1',
      'flush',
      'put 3',
      'ack 3',
      'flush',
      'finish success',
      'close',
      'close source',
    ]);
    expect(values.get('test::row-0')).toBe(3);
  });

  it('moves the next page while a bookmark is stored, and flushes nothing before it is', async () => {
    const trace: Trace = [];
    const stored = Promise.withResolvers<void>();
    const state = slowState(trace, stored.promise);
    const sink = fakeSink({
      trace,
      onWrite: (_, call) => (call === 2 ? setImmediate(stored.resolve) : undefined),
    });
    const outcome = await run(
      planOf([plannedRow(fakeSource(pages, { trace }), sink.definition, { state: part(state) })]),
    );
    expect(outcome).toMatchObject({ status: 'completed', invocations: [{ bookmark: 3 }] });
    expect(trace.slice(1, 10)).toEqual([
      'write 2',
      'flush',
      'put 2',
      'write 1',
      'stored 2',
      'ack 2',
      'flush',
      'put 3',
      'stored 3',
    ]);
  });

  it('ends at once when a bookmark cannot be stored, although the source waits for more records', async () => {
    const broken = Promise.reject(new ConnectorError('refused', 'the disk is full'));
    broken.catch(() => {});
    const source = fakeSource(pages.slice(0, 1));
    const waiting: typeof source = {
      ...source,
      open: async (config, context) => ({
        ...(await source.open(config, context)),
        async *pages() {
          yield Page.ofRecords([1], { bookmark: 1 });
          context.signal.throwIfAborted();
          await new Promise((_resolve, reject) =>
            context.signal.addEventListener('abort', reject, { once: true }),
          );
        },
      }),
    };
    const outcome = await run(
      planOf([plannedRow(waiting, fakeSink().definition, { state: part(slowState([], broken)) })]),
    );
    expect(outcome.invocations[0]).toMatchObject({
      status: 'failed',
      error: { kind: 'State' },
      balance: { written: 1 },
    });
    expect(outcome.error?.message).toContain('the disk is full');
  });

  it('starts after the stored bookmark', async () => {
    const trace: Trace = [];
    const row = plannedRow(fakeSource([], { trace }), fakeSink().definition, {
      state: part(fakeState(new Map([['test::row-0', 41]]))),
    });
    await run(planOf([row]));
    expect(trace[0]).toBe('read from 41');
  });

  it('fails without moving the bookmark when the sink fails, and says which sink', async () => {
    const values = new Map<string, JsonValue>();
    const sink = fakeSink({
      onWrite: (_, call) => {
        if (call === 2) throw connectionLost();
      },
    });
    const outcome = await run(
      planOf([plannedRow(fakeSource(pages), sink.definition, { state: part(fakeState(values)) })]),
    );
    expect(outcome.status).toBe('failed');
    expect(outcome.error?.message).toBe(
      '1 invocation(s) failed: row-0: sink `fake`: the connection was lost',
    );
    expect(outcome.invocations[0]).toMatchObject({
      status: 'failed',
      balance: { read: 3, written: 2 },
      error: { kind: 'Sink', code: 'connector_connection' },
    });
    expect(values.get('test::row-0')).toBe(2);
  });

  it('keeps the pages before a failing source and flushes them', async () => {
    const trace: Trace = [];
    const sink = fakeSink({ trace });
    const outcome = await run(
      planOf([plannedRow(fakeSource(pages, { failAfter: connectionLost() }), sink.definition)]),
    );
    expect(outcome.invocations[0]).toMatchObject({
      status: 'failed',
      error: { kind: 'Source' },
      balance: { written: 3 },
    });
    expect(trace.slice(-3)).toEqual(['flush', 'finish failed', 'close']);
  });

  it.each([
    ['an overwrite', { writeMode: 'overwrite' as const, flushDurable: false }, {}],
    ['a sink that says so', { flushDurable: false }, { discarded: () => true }],
  ])('a failed row of %s has written nothing: all was thrown away', async (_, has, more) => {
    const sink = fakeSink({ capabilities: has });
    const definition = {
      ...sink.definition,
      open: async () => ({ ...(await sink.definition.open({}, undefined as never)), ...more }),
    };
    const source = fakeSource(pages, { failAfter: connectionLost() });
    const outcome = await run(planOf([plannedRow(source, definition)]));
    expect(outcome).toMatchObject({ status: 'failed', records_written: 0 });
    expect(outcome.invocations[0]).toMatchObject({
      balance: { written: 0, withheld: 3 },
      withheld_by: { discarded: 3 },
    });
    const complete = await run(planOf([plannedRow(fakeSource(pages), definition)]));
    expect(complete.invocations[0]?.balance).toMatchObject({ written: 3, withheld: 0 });
  });

  it('stores the bookmark only after finish when a flush is not durable', async () => {
    const trace: Trace = [];
    const sink = fakeSink({ trace, capabilities: { flushDurable: false } });
    const row = plannedRow(fakeSource(pages), sink.definition, {
      state: part(fakeState(new Map(), trace)),
    });
    await run(planOf([row]));
    expect(trace.filter((what) => what.startsWith('put') || what.startsWith('finish'))).toEqual([
      'finish success',
      'put 3',
    ]);
  });

  it('moves the bookmark for an empty page that carries one', async () => {
    const values = new Map<string, JsonValue>();
    const row = plannedRow(fakeSource([{ records: [], bookmark: 9 }]), fakeSink().definition, {
      state: part(fakeState(values)),
    });
    expect((await run(planOf([row]))).status).toBe('completed');
    expect(values.get('test::row-0')).toBe(9);
  });

  it('fails when the sink took fewer records than it was given', async () => {
    const sink = fakeSink();
    const lossy = {
      ...sink.definition,
      open: async () => ({
        ...(await sink.definition.open({}, undefined as never)),
        write: () => Promise.resolve({ written: 1, rejected: [] }),
      }),
    };
    const outcome = await run(planOf([plannedRow(fakeSource(pages), lossy)]));
    expect(outcome.invocations[0]?.error).toMatchObject({ code: 'balance_open' });
  });
});

describe('dead letters', () => {
  it('take rejected records with their reason and the rest is written', async () => {
    const dead = fakeSink({ name: 'dlq' });
    const sink = fakeSink({
      reject: (record) => (JSON.stringify(record) === '{"id":2}' ? 'too even' : undefined),
    });
    const outcome = await run(
      planOf([plannedRow(fakeSource(pages), sink.definition, { dlq: dlqPlan(dead.definition) })]),
    );
    expect(outcome.invocations[0]?.balance).toMatchObject({
      read: 3,
      written: 2,
      dead_lettered: 1,
    });
    expect(sink.records).toEqual([{ id: 1 }, { id: 3 }]);
    expect(dead.records).toEqual([
      {
        error: { kind: 'Sink', message: 'too even' },
        reason: 'partial',
        payload: { id: 2 },
        ts_ms: expect.any(Number),
        sink: 'fake',
        pipeline: 'test',
        row: 'row-0',
        record_index: 1,
        record_number: 2,
      },
    ]);
  });

  it('are flushed before the bookmark is stored', async () => {
    const trace: Trace = [];
    const dead = fakeSink({ name: 'dlq', trace });
    const sink = fakeSink({ trace, reject: () => 'no' });
    const row = plannedRow(fakeSource([{ records: [1], bookmark: 1 }]), sink.definition, {
      dlq: dlqPlan(dead.definition),
      state: part(fakeState(new Map(), trace)),
    });
    await run(planOf([row]));
    expect(trace.slice(0, 5)).toEqual(['write 1', 'dlq write 1', 'flush', 'dlq flush', 'put 1']);
  });

  it('take the whole page with dlq_all, and the bookmark moves on', async () => {
    const dead = fakeSink({ name: 'dlq' });
    const values = new Map<string, JsonValue>();
    const sink = fakeSink({
      onWrite: (_, call) => {
        if (call === 1) throw connectionLost();
      },
    });
    const row = plannedRow(fakeSource(pages), sink.definition, {
      dlq: dlqPlan(dead.definition, { onBatchError: 'dlq_all' }),
      state: part(fakeState(values)),
    });
    const outcome = await run(planOf([row]));
    expect(outcome.invocations[0]?.balance).toMatchObject({ written: 1, dead_lettered: 2 });
    expect(dead.records).toMatchObject([
      { reason: 'dlq_all', error: { kind: 'Sink' } },
      { reason: 'dlq_all' },
    ]);
    expect(values.get('test::row-0')).toBe(3);
  });

  it('commit the page that trips a budget, then end the run naming the scope', async () => {
    const values = new Map<string, JsonValue>();
    const sink = fakeSink({ reject: () => 'no' });
    const row = plannedRow(fakeSource(pages), sink.definition, {
      dlq: dlqPlan(fakeSink({ name: 'dlq' }).definition, { maxFailuresPerPage: 1 }),
      state: part(fakeState(values)),
    });
    const outcome = await run(planOf([row]));
    expect(outcome.error).toMatchObject({ code: 'dlq_budget_exceeded', kind: 'Sink' });
    expect(outcome.error?.message).toContain('per-page');
    expect(values.get('test::row-0')).toBe(2);
  });

  it('that cannot be written end the run before the bookmark moves', async () => {
    const values = new Map<string, JsonValue>();
    const dead = fakeSink({
      name: 'dlq',
      onWrite: () => {
        throw connectionLost();
      },
    });
    const row = plannedRow(fakeSource(pages), fakeSink({ reject: () => 'no' }).definition, {
      dlq: dlqPlan(dead.definition),
      state: part(fakeState(values)),
    });
    expect((await run(planOf([row]))).status).toBe('failed');
    expect(values.size).toBe(0);
  });
});

describe('stopping', () => {
  it('happens at a page boundary: flushed, counted, cancelled, no error', async () => {
    const stop = new AbortController();
    const trace: Trace = [];
    const sink = fakeSink({
      trace,
      onWrite: () => stop.abort(new StopReason('cancel', 'asked')),
    });
    const outcome = await run(planOf([plannedRow(fakeSource(pages), sink.definition)]), {
      signal: stop.signal,
    });
    expect(outcome).toMatchObject({
      status: 'cancelled',
      records_written: 2,
      error: null,
      invocations: [{ status: 'cancelled' }],
    });
    expect(trace.slice(-3)).toEqual(['flush', 'finish cancelled', 'close']);
  });

  it('leaves nothing remembered after a dry run or a limited run', async () => {
    const values = new Map<string, JsonValue>();
    const sink = fakeSink();
    const row = plannedRow(fakeSource(pages), sink.definition, { state: part(fakeState(values)) });
    expect(await run(planOf([row]), { dryRun: true })).toMatchObject({
      status: 'completed',
      records_written: 3,
    });
    expect(sink.records).toEqual([]);
    expect(await run(planOf([row]), { limit: 1 })).toMatchObject({
      status: 'completed',
      records_written: 1,
      invocations: [{ balance: { withheld: 1 } }],
    });
    expect(sink.records).toEqual([{ id: 1 }]);
    expect(values.size).toBe(0);
  });
});

describe('several rows', () => {
  it('run a child once for every record of its parent, with a state key of its own', async () => {
    const values = new Map<string, JsonValue>();
    const parents = plannedRow(
      fakeSource([
        {
          records: [
            { id: 'a', n: 1 },
            { id: 'b c', n: 2 },
          ],
        },
      ]),
      fakeSink().definition,
      { id: 'users' },
    );
    const child = plannedRow(fakeSource(pages), fakeSink().definition, {
      id: 'posts',
      parent: { row: 'users', key: 'id', fields: ['n'] },
      state: part(fakeState(values)),
      stateKey: 'test::posts',
    });
    const outcome = await run(planOf([parents, child]));
    expect(outcome.invocations.map((one) => [one.row_id, one.parent_record_key])).toEqual([
      ['users', null],
      ['posts', 'a'],
      ['posts', 'b c'],
    ]);
    expect([...values.keys()].sort()).toEqual(['test::posts::a', 'test::posts::b%20c']);
  });

  it('leave a child without work out when its parent gave nothing', async () => {
    const parents = plannedRow(fakeSource([]), fakeSink().definition, { id: 'users' });
    const child = plannedRow(fakeSource(pages), fakeSink().definition, {
      id: 'posts',
      parent: { row: 'users', key: 'id', fields: [] },
    });
    expect(await run(planOf([parents, child]))).toMatchObject({
      status: 'completed',
      invocations: [{ row_id: 'users' }],
    });
  });

  it('refuse two parent records with the same key before a child starts', async () => {
    const sink = fakeSink();
    const parents = plannedRow(
      fakeSource([{ records: [{ id: 1 }, { id: 1 }] }]),
      fakeSink().definition,
      { id: 'users' },
    );
    const child = plannedRow(fakeSource(pages), sink.definition, {
      id: 'posts',
      parent: { row: 'users', key: 'id', fields: [] },
    });
    const outcome = await run(planOf([parents, child]));
    expect(outcome.error?.message).toContain('same `id`: 1');
    expect(sink.records).toEqual([]);
  });

  it('skip what depends on a failed row, and only the failure counts', async () => {
    const bad = plannedRow(fakeSource([], { failAfter: connectionLost() }), fakeSink().definition, {
      id: 'bad',
    });
    const after = plannedRow(fakeSource(pages), fakeSink().definition, {
      id: 'after',
      dependsOn: ['bad'],
    });
    const last = plannedRow(fakeSource(pages), fakeSink().definition, {
      id: 'last',
      dependsOn: ['after'],
    });
    const outcome = await run(planOf([after, last, bad]));
    expect(outcome.error?.message).toMatch(/^1 invocation\(s\) failed/);
    expect(outcome.invocations.map((one) => [one.row_id, one.status])).toEqual([
      ['after', 'skipped'],
      ['last', 'skipped'],
      ['bad', 'failed'],
    ]);
  });

  it('stop at a page boundary when a sibling fails and on_error is stop', async () => {
    let failNow = (): void => {};
    const failed = new Promise<void>((resolve) => {
      failNow = resolve;
    });
    const endless = Array.from({ length: 1000 }, (_, index) => ({ records: [{ index }] }));
    const bad = plannedRow(fakeSource([], { failAfter: connectionLost() }), fakeSink().definition, {
      id: 'bad',
    });
    const slow = plannedRow(
      fakeSource(endless, { beforePage: () => failed }),
      fakeSink().definition,
      {
        id: 'slow',
      },
    );
    const outcome = run(planOf([slow, bad], { onError: 'stop' }));
    setImmediate(() => setImmediate(failNow));
    const { invocations } = await outcome;
    expect(invocations.map((one) => [one.row_id, one.status])).toEqual([
      ['slow', 'cancelled'],
      ['bad', 'failed'],
    ]);
    expect(invocations[0]?.balance.read).toBeLessThan(1000);
  });

  it('never run more at a time than max_concurrent allows', async () => {
    let open = 0;
    let most = 0;
    const counting = (id: string): PlannedRow =>
      plannedRow(
        fakeSource(pages, {
          beforePage: (index) => {
            if (index === 0) open += 1;
            most = Math.max(most, open);
            if (index === 1) open -= 1;
          },
        }),
        fakeSink().definition,
        { id },
      );
    await run(planOf(['a', 'b', 'c', 'd'].map(counting), { maxConcurrent: 1 }));
    expect(most).toBe(1);
  });

  it('start the heaviest row first with schedule lpt', async () => {
    const trace: Trace = [];
    const row = (id: string, weight?: number): PlannedRow =>
      plannedRow(
        fakeSource([], { beforePage: () => {} }),
        fakeSink({ trace, name: id }).definition,
        { id, weight },
      );
    await run(
      planOf([row('none'), row('light', 1), row('heavy', 9)], {
        maxConcurrent: 1,
        schedule: 'lpt',
      }),
    );
    expect(trace.filter((what) => what.endsWith('close'))).toEqual([
      'heavy close',
      'light close',
      'none close',
    ]);
  });
});
