import { describe, expect, it } from 'vitest';
import { countedMetrics } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { runGraph, type Edge, type GraphDocument } from '../../../test/fakes/graph.ts';
import {
  connectionLost,
  fakeSink,
  fakeSource,
  fakeState,
  type FakePage,
  type Trace,
} from '../../../test/fakes/plan.ts';
import { Page } from '../../kit/page.ts';
import { StopReason } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

/** Pages of `size` numbered records, each page with a bookmark. */
function numbered(
  pages: number,
  size = 2,
  make: (id: number) => JsonObject = (id) => ({ id }),
): FakePage[] {
  return Array.from({ length: pages }, (_, page) => ({
    records: Array.from({ length: size }, (_item, index) => make(page * size + index)),
    bookmark: page + 1,
  }));
}

const source = (type: string): JsonObject => ({ kind: 'source', type });
const sink = (type: string): JsonObject => ({ kind: 'sink', type });
const transform = (type: string, config: JsonObject): JsonObject => ({
  kind: 'transform',
  transforms: [{ type, config }],
});
const idsOf = (records: readonly JsonValue[]): unknown[] =>
  records.map((record) => (record as JsonObject)['id']);

const TEE: GraphDocument = {
  nodes: { in: source('in'), both: { kind: 'tee' }, a: sink('a'), b: sink('b') },
  edges: [
    ['in', 'both'],
    ['both', 'a'],
    ['both', 'b'],
  ],
};

const JOIN_NODES: JsonObject = {
  c: source('people'),
  o: source('orders'),
  j: {
    kind: 'join',
    mode: 'left',
    build: { edge: 'right', key: 'id' },
    probe: { edge: 'left', key: 'person' },
    project: [{ from: 'name', as: 'name' }],
  },
  w: sink('out'),
};
const JOIN_EDGES: readonly Edge[] = [
  ['c', 'j', 'right'],
  ['o', 'j', 'left'],
  ['j', 'w'],
];

describe('a tee', () => {
  it('gives every record to every sink, and each sink is a row of its own', async () => {
    const [a, b] = [fakeSink(), fakeSink()];
    const outcome = await runGraph(TEE, {
      sources: { in: fakeSource(numbered(20)) },
      sinks: { a: a.definition, b: b.definition },
    });
    expect(outcome).toMatchObject({ status: 'completed', records_written: 80, error: null });
    expect(
      outcome.invocations.map(({ row_id: id, source: from, balance }) => [
        id,
        from,
        balance.read,
        balance.written,
      ]),
    ).toEqual([
      ['a', 'in', 40, 40],
      ['b', 'in', 40, 40],
    ]);
    expect(outcome.nodes).toMatchObject([
      { id: 'in', kind: 'source', records_in: 40, records_out: 40 },
      { id: 'both', kind: 'tee', records_in: 40, expanded: 40, records_out: 80 },
    ]);
    expect(idsOf(a.records)).toEqual(Array.from({ length: 40 }, (_, id) => id));
    expect(b.records).toEqual(a.records);
  });

  it('waits for its slowest edge: the source is never further ahead than the edges hold', async () => {
    let open: () => void = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    let read = 0;
    const slow = fakeSink();
    const waiting = {
      ...slow.definition,
      open: async () => {
        const opening = await slow.definition.open({}, undefined as never);
        return {
          ...opening,
          write: (page: never, options: never) => opened.then(() => opening.write(page, options)),
        };
      },
    };
    const fast = fakeSink();
    const pages = numbered(100, 1);
    const document = {
      ...TEE,
      nodes: { ...TEE.nodes, both: { kind: 'tee', channel_capacity: 1 } },
    };
    const beforePage = (index: number): void => {
      read = index;
      // Far more pages than the edges hold would have to pass before the slow sink takes its first.
      if (index > 50) open();
    };
    const running = runGraph(document, {
      sources: { in: fakeSource(pages, { beforePage }) },
      sinks: { a: fast.definition, b: waiting },
    });
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBeLessThan(12);
    expect(fast.records.length).toBeLessThan(12);
    open();
    expect((await running).status).toBe('completed');
    expect(slow.records).toHaveLength(100);
  });

  it('holds no more bytes than its edges may, however many pages they may hold', async () => {
    const MEBIBYTE = 1024 * 1024;
    let read = 0;
    let open: () => void = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const base = fakeSource([]);
    const heavy = {
      ...base,
      open: async () => ({
        ...(await base.open({}, undefined as never)),
        async *pages() {
          for (read = 0; read < 100; read += 1)
            yield await Promise.resolve(Page.ofRecords([{ id: read }], { bytes: MEBIBYTE }));
        },
      }),
    };
    const target = fakeSink();
    const waiting = {
      ...target.definition,
      open: async () => {
        const opening = await target.definition.open({}, undefined as never);
        return {
          ...opening,
          write: (page: never, options: never) => opened.then(() => opening.write(page, options)),
        };
      },
    };
    const document = {
      ...TEE,
      nodes: { ...TEE.nodes, both: { kind: 'tee', channel_capacity: 10_000 } },
    };
    const running = runGraph(document, {
      sources: { in: heavy },
      sinks: { a: fakeSink().definition, b: waiting },
    });
    for (let turn = 0; turn < 300; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBeGreaterThan(8);
    expect(read).toBeLessThan(25);
    open();
    expect((await running).records_written).toBe(200);
  });

  it('keeps what one branch changes from the other', async () => {
    const [a, b] = [fakeSink(), fakeSink()];
    const document: GraphDocument = {
      nodes: {
        ...TEE.nodes,
        mark: transform('set', { values: { nested: { by: 'a' }, seen: true } }),
      },
      edges: [
        ['in', 'both'],
        ['both', 'mark'],
        ['mark', 'a'],
        ['both', 'b'],
      ],
    };
    const pages = numbered(5, 2, (id) => ({ id, nested: { by: 'source' } }));
    await runGraph(document, {
      sources: { in: fakeSource(pages) },
      sinks: { a: a.definition, b: b.definition },
    });
    expect(a.records[0]).toEqual({ id: 0, nested: { by: 'a' }, seen: true });
    expect(b.records[0]).toEqual({ id: 0, nested: { by: 'source' } });
  });
});

describe('a merge', () => {
  it('gives the union of its inputs', async () => {
    const out = fakeSink();
    const document: GraphDocument = {
      nodes: { x: source('x'), y: source('y'), m: { kind: 'merge' }, w: sink('w') },
      edges: [
        ['x', 'm'],
        ['y', 'm'],
        ['m', 'w'],
      ],
    };
    const sources = {
      x: fakeSource(numbered(3)),
      y: fakeSource(numbered(7, 1, (id) => ({ id: id + 100 }))),
    };
    const outcome = await runGraph(document, { sources, sinks: { w: out.definition } });
    expect(outcome.invocations[0]).toMatchObject({ source: 'x+y', balance: { written: 13 } });
    expect(idsOf(out.records).sort((one, other) => Number(one) - Number(other))).toEqual([
      0,
      1,
      2,
      3,
      4,
      5,
      ...[0, 1, 2, 3, 4, 5, 6].map((id) => id + 100),
    ]);
    expect(outcome.nodes?.at(-1)).toMatchObject({ id: 'm', records_in: 13, records_out: 13 });
  });

  it('hands on a position only when every branch has brought what comes before it', async () => {
    const trace: Trace = [];
    const values = new Map<string, JsonValue>();
    const out = fakeSink({ trace });
    const document: GraphDocument = {
      nodes: {
        in: source('in'),
        t: { kind: 'tee' },
        even: transform('set', { values: { branch: 1 } }),
        m: { kind: 'merge' },
        w: sink('w'),
      },
      edges: [
        ['in', 't'],
        ['t', 'even'],
        ['even', 'm'],
        ['t', 'm'],
        ['m', 'w'],
      ],
      pipeline: { state: { type: 'fake' } },
    };
    const state = fakeState(values, trace);
    const outcome = await runGraph(document, {
      sources: { in: fakeSource(numbered(5, 1)) },
      sinks: { w: out.definition },
      state,
    });
    expect(outcome.error).toBeNull();
    expect(out.records).toHaveLength(10);
    let written = 0;
    for (const what of trace) {
      if (what.startsWith('write')) written += 1;
      // Position n says that both copies of the first n pages are written.
      if (what.startsWith('put')) expect(written).toBeGreaterThanOrEqual(2 * Number(what.slice(4)));
    }
    expect(values.get('graph::w')).toBe(5);
  });
});

describe('a join', () => {
  const people = numbered(3, 2, (id) => ({ id, name: `name ${id}` }));
  const orders = numbered(4, 3, (id) => ({ id, person: id % 8 }));

  it('enriches one stream with the other, and its counts are reported', async () => {
    const out = fakeSink();
    const metrics = countedMetrics();
    const sources = { people: fakeSource(people), orders: fakeSource(orders) };
    const outcome = await runGraph(
      { nodes: JOIN_NODES, edges: JOIN_EDGES },
      { sources, sinks: { out: out.definition } },
      { env: testEnv({ metrics }) },
    );
    expect(outcome.status).toBe('completed');
    expect(out.records).toHaveLength(12);
    expect(out.records.slice(5, 8)).toEqual([
      { id: 5, person: 5, name: 'name 5' },
      { id: 6, person: 6, name: null },
      { id: 7, person: 7, name: null },
    ]);
    expect(outcome.nodes?.find(({ kind }) => kind === 'join')).toMatchObject({
      records_in: 18,
      filtered: 6,
      expanded: 0,
      records_out: 12,
    });
    expect(metrics.of('svc_join_matches_total')).toEqual({ '{graph,j,left}': 10 });
    expect(metrics.of('svc_join_misses_total')).toEqual({ '{graph,j,left}': 2 });
    expect(metrics.of('svc_join_build_records_total')).toEqual({ '{graph,j}': 6 });
    expect(metrics.of('svc_source_records_total')).toEqual({
      '{graph,c,people}': 6,
      '{graph,o,orders}': 12,
    });
  });

  it('fails the run when the build side is too large, whole sinks aside', async () => {
    const nodes = {
      ...JOIN_NODES,
      j: { ...(JOIN_NODES['j'] as JsonObject), max_build_records: 5 },
    };
    const out = fakeSink();
    const sources = { people: fakeSource(people), orders: fakeSource(orders) };
    const outcome = await runGraph(
      { nodes, edges: JOIN_EDGES },
      { sources, sinks: { out: out.definition } },
    );
    expect(outcome.error).toMatchObject({ code: 'join_build_too_large', kind: 'Transform' });
    expect(outcome.error?.message).toMatch(/^1 topology node\(s\) failed: j: /);
    expect(outcome.invocations[0]).toMatchObject({ status: 'failed', balance: { written: 0 } });
    expect(outcome.invocations[0]?.error?.message).toMatch(/^node `j`: /);
  });

  it.each([
    ['one tee feeds both sides', false],
    ['one tee feeds both sides and a sink', true],
  ])(
    'does not stand still when %s, with far more pages than the edges hold',
    async (_, withSink) => {
      const [out, copy] = [fakeSink(), fakeSink()];
      const nodes: JsonObject = {
        in: source('in'),
        t: { kind: 'tee' },
        j: { ...(JOIN_NODES['j'] as JsonObject), probe: { edge: 'left', key: 'id' } },
        w: sink('out'),
      };
      const edges: Edge[] = [
        ['in', 't'],
        ['t', 'j', 'right'],
        ['t', 'j', 'left'],
        ['j', 'w'],
      ];
      if (withSink) {
        nodes['copy'] = sink('copy');
        edges.push(['t', 'copy']);
      }
      const sources = { in: fakeSource(numbered(200, 2, (id) => ({ id, name: `n${id}` }))) };
      const outcome = await runGraph(
        { nodes, edges },
        { sources, sinks: { out: out.definition, copy: copy.definition } },
      );
      expect(outcome.status).toBe('completed');
      expect(out.records).toHaveLength(400);
      expect(out.records.at(-1)).toEqual({ id: 399, name: 'n399' });
      expect(copy.records).toHaveLength(withSink ? 400 : 0);
    },
  );

  it('does not stand still when two joins feed on each other’s tees', async () => {
    const join = (build: string, probe: string): JsonObject => ({
      kind: 'join',
      mode: 'left',
      build: { edge: build, key: 'id' },
      probe: { edge: probe, key: 'id' },
    });
    const [one, two] = [fakeSink(), fakeSink()];
    const document: GraphDocument = {
      nodes: {
        p: source('p'),
        q: source('q'),
        tp: { kind: 'tee' },
        tq: { kind: 'tee' },
        j1: join('p', 'q'),
        j2: join('q', 'p'),
        w1: sink('one'),
        w2: sink('two'),
      },
      edges: [
        ['p', 'tp'],
        ['q', 'tq'],
        ['tp', 'j1', 'p'],
        ['tp', 'j2', 'p'],
        ['tq', 'j2', 'q'],
        ['tq', 'j1', 'q'],
        ['j1', 'w1'],
        ['j2', 'w2'],
      ],
    };
    const sources = { p: fakeSource(numbered(60)), q: fakeSource(numbered(80)) };
    const outcome = await runGraph(document, {
      sources,
      sinks: { one: one.definition, two: two.definition },
    });
    expect(outcome.status).toBe('completed');
    expect([one.records.length, two.records.length]).toEqual([160, 120]);
  });
});

describe('a transform', () => {
  it('filters and multiplies, and the balance of the graph closes', async () => {
    const out = fakeSink();
    const document: GraphDocument = {
      nodes: { in: source('in'), t: transform('explode', { path: 'items' }), w: sink('w') },
      edges: [
        ['in', 't'],
        ['t', 'w'],
      ],
    };
    const pages = numbered(3, 2, (id) => ({
      id,
      items: Array.from({ length: id }, (_, at) => ({ at })),
    }));
    const outcome = await runGraph(document, {
      sources: { in: fakeSource(pages) },
      sinks: { w: out.definition },
    });
    expect(outcome.error).toBeNull();
    const [, node] = outcome.nodes ?? [];
    expect(node).toMatchObject({ id: 't', records_in: 6, records_out: out.records.length });
    expect((node?.records_in ?? 0) - (node?.filtered ?? 0) + (node?.expanded ?? 0)).toBe(
      out.records.length,
    );
  });
});

describe('a failure', () => {
  const failing = () => {
    const bad = fakeSink({
      onWrite: (_, call) => {
        if (call === 2) throw connectionLost();
      },
    });
    return { bad, good: fakeSink() };
  };

  it('of one sink leaves the healthy branches to finish', async () => {
    const { bad, good } = failing();
    const outcome = await runGraph(TEE, {
      sources: { in: fakeSource(numbered(30)) },
      sinks: { a: bad.definition, b: good.definition },
    });
    expect(outcome.status).toBe('failed');
    expect(outcome.error?.message).toBe(
      '1 topology node(s) failed: a: sink `a`: the connection was lost',
    );
    expect(outcome.invocations.map(({ status }) => status)).toEqual(['failed', 'completed']);
    expect(good.records).toHaveLength(60);
  });

  it('stops the other nodes with on_error: stop', async () => {
    const { bad, good } = failing();
    const document = { ...TEE, top: { execution: { on_error: 'stop' } } };
    const outcome = await runGraph(document, {
      sources: { in: fakeSource(numbered(500)) },
      sinks: { a: bad.definition, b: good.definition },
    });
    expect(outcome.invocations.map(({ status }) => status)).toEqual(['failed', 'cancelled']);
    expect(outcome.error?.message).toMatch(/^1 topology node\(s\) failed: a:/);
    expect(good.records.length).toBeLessThan(1000);
  });

  it('of a source reaches only the sinks behind it, after the pages before it', async () => {
    const [a, b] = [fakeSink(), fakeSink()];
    const document: GraphDocument = {
      nodes: { x: source('x'), y: source('y'), a: sink('a'), b: sink('b') },
      edges: [
        ['x', 'a'],
        ['y', 'b'],
      ],
    };
    const sources = {
      x: fakeSource(numbered(3), { failAfter: connectionLost() }),
      y: fakeSource(numbered(3)),
    };
    const outcome = await runGraph(document, {
      sources,
      sinks: { a: a.definition, b: b.definition },
    });
    expect(outcome.error).toMatchObject({
      message: '1 topology node(s) failed: x: source `x`: the connection was lost',
      kind: 'Source',
    });
    expect(outcome.invocations.map(({ status, balance }) => [status, balance.written])).toEqual([
      ['failed', 6],
      ['completed', 6],
    ]);
    expect(outcome.nodes?.map(({ id, status }) => [id, status])).toEqual([
      ['x', 'failed'],
      ['y', 'completed'],
    ]);
  });

  it('of a transform names the node and the transform', async () => {
    const document: GraphDocument = {
      nodes: { in: source('in'), t: transform('cast', { fields: { id: 'int' } }), w: sink('w') },
      edges: [
        ['in', 't'],
        ['t', 'w'],
      ],
    };
    const pages = numbered(1, 1, () => ({ id: 'no number' }));
    const outcome = await runGraph(document, {
      sources: { in: fakeSource(pages) },
      sinks: { w: fakeSink().definition },
    });
    expect(outcome.error?.message).toMatch(/^1 topology node\(s\) failed: t: transform `cast`: /);
  });
});

describe('a run that is stopped', () => {
  it('keeps what was written and says so', async () => {
    const stop = new AbortController();
    const [a, b] = [fakeSink(), fakeSink()];
    const beforePage = (index: number): void => {
      if (index === 20) stop.abort(new StopReason('cancel', 'enough'));
    };
    const sources = { in: fakeSource(numbered(1000), { beforePage }) };
    const outcome = await runGraph(
      TEE,
      { sources, sinks: { a: a.definition, b: b.definition } },
      { signal: stop.signal },
    );
    expect(outcome).toMatchObject({ status: 'cancelled', error: null });
    expect(outcome.invocations.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    expect(a.records.length).toBeLessThan(100);
  });

  it('before it starts moves nothing', async () => {
    const a = fakeSink();
    const signal = AbortSignal.abort(new StopReason('cancel', 'at once'));
    const outcome = await runGraph(
      TEE,
      {
        sources: { in: fakeSource(numbered(3)) },
        sinks: { a: a.definition, b: fakeSink().definition },
      },
      { signal },
    );
    expect([outcome.status, a.records.length]).toEqual(['cancelled', 0]);
  });

  it('writes nothing when dry, and stops reading at its limit', async () => {
    const [a, b] = [fakeSink(), fakeSink()];
    const parts = {
      sources: { in: fakeSource(numbered(5)) },
      sinks: { a: a.definition, b: b.definition },
    };
    const dry = await runGraph(TEE, parts, { dryRun: true });
    expect([dry.status, dry.records_written, a.records.length]).toEqual(['completed', 20, 0]);
    let read = 0;
    const counted = {
      ...parts,
      sources: { in: fakeSource(numbered(1000), { beforePage: () => void (read += 1) }) },
    };
    const limited = await runGraph(TEE, counted, { limit: 3 });
    expect(limited.status).toBe('completed');
    expect([a.records.length, b.records.length]).toEqual([3, 3]);
    expect(read).toBeLessThan(50);
  });
});
