import { describe, expect, it } from 'vitest';
import { sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { runGraph, type GraphDocument, type GraphParts } from '../../../test/fakes/graph.ts';
import {
  connectionLost,
  fakeSink,
  fakeSource,
  fakeState,
  type FakePage,
  type Trace,
} from '../../../test/fakes/plan.ts';
import { sqliteSink } from '../../connectors/sqlite/index.ts';
import { StopReason } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { SinkDefinition } from '../../kit/sink.ts';

const pages: FakePage[] = Array.from({ length: 8 }, (_, page) => ({
  records: [{ id: 2 * page }, { id: 2 * page + 1 }],
  bookmark: page + 1,
}));

const TEE: GraphDocument = {
  nodes: {
    in: { kind: 'source', type: 'in' },
    both: { kind: 'tee' },
    a: { kind: 'sink', type: 'a' },
    b: { kind: 'sink', type: 'b' },
  },
  edges: [
    ['in', 'both'],
    ['both', 'a'],
    ['both', 'b'],
  ],
  pipeline: { state: { type: 'fake' } },
};

/** A sink that loses its connection at its n-th write, once. */
function failingOnce(definition: SinkDefinition, at: number): SinkDefinition {
  let calls = 0;
  const count = (): void => {
    calls += 1;
    if (calls === at) throw connectionLost();
  };
  return {
    ...definition,
    open: async (config, context) => {
      const opened = await definition.open(config, context);
      const { tokens } = opened;
      return {
        ...opened,
        write: async (page, options) => {
          count();
          return opened.write(page, options);
        },
        flush: () => opened.flush(),
        finish: (reason) => opened.finish(reason),
        close: () => opened.close(),
        ...(tokens === undefined
          ? {}
          : {
              tokens: {
                last: (scope: string) => tokens.last(scope),
                hold: (page) => tokens.hold(page),
                forget: (scope) => tokens.forget(scope),
                write: async (page, scope, token) => {
                  count();
                  return tokens.write(page, scope, token);
                },
              },
            }),
      };
    },
  };
}

const idsOf = (records: readonly JsonValue[]): number[] =>
  records.map((record) => Number((record as JsonObject)['id']));
const upTo = (end: number, from = 0): number[] =>
  Array.from({ length: end - from }, (_, index) => from + index);

describe('a graph of one source', () => {
  it('goes on where all sinks stopped, and each keeps its own position', async () => {
    const values = new Map<string, JsonValue>();
    const trace: Trace = [];
    const [a, b] = [fakeSink(), fakeSink()];
    const parts = (given: FakePage[]): GraphParts => ({
      sources: { in: fakeSource(given, { trace, positional: true }) },
      sinks: { a: a.definition, b: b.definition },
      state: fakeState(values),
    });
    await runGraph(TEE, parts(pages.slice(0, 5)));
    expect(Object.fromEntries(values)).toEqual({ 'graph::a': 5, 'graph::b': 5 });
    const outcome = await runGraph(TEE, parts(pages));
    expect(trace.filter((what) => what.startsWith('read'))).toEqual([
      'read from null',
      'read from 5',
    ]);
    expect(outcome.invocations.map(({ bookmark }) => bookmark)).toEqual([8, 8]);
    expect(idsOf(a.records)).toEqual(upTo(16));
    expect(idsOf(b.records)).toEqual(upTo(16));
  });

  it('reads everything again after one sink has failed, says why, and goes on from then', async () => {
    const values = new Map<string, JsonValue>();
    const trace: Trace = [];
    const [a, b] = [fakeSink(), fakeSink()];
    const parts: GraphParts = {
      sources: { in: fakeSource(pages, { trace, positional: true }) },
      sinks: { a: a.definition, b: failingOnce(b.definition, 4) },
      state: fakeState(values),
    };
    expect((await runGraph(TEE, parts)).status).toBe('failed');
    expect(Object.fromEntries(values)).toEqual({ 'graph::a': 8, 'graph::b': 3 });
    const env = testEnv();
    expect((await runGraph(TEE, parts, { env })).status).toBe('completed');
    expect(env.lines.map(({ line }) => line).filter((line) => line.includes('read again'))).toEqual(
      [
        'WARN headgate::engine: everything is read again: stored positions are of no use reason="the sinks stopped at different positions (2 of 2 have one)"',
      ],
    );
    await runGraph(TEE, parts);
    expect(trace.filter((what) => what.startsWith('read'))).toEqual([
      'read from null',
      'read from null',
      'read from 8',
    ]);
    expect(new Set(idsOf(b.records))).toEqual(new Set(upTo(16)));
  });

  it('tells the source only what every sink has made durable', async () => {
    const trace: Trace = [];
    const values = new Map<string, JsonValue>();
    const named = (name: string) => fakeSink({ trace, name }).definition;
    await runGraph(TEE, {
      sources: { in: fakeSource(pages, { trace }) },
      sinks: { a: named('A'), b: named('B') },
      state: fakeState(values, trace),
    });
    expect(trace.filter((what) => what.startsWith('ack'))).toEqual(
      upTo(9, 1).map((n) => `ack ${n}`),
    );
    for (const n of upTo(9, 1)) {
      const before = trace.slice(0, trace.indexOf(`ack ${n}`));
      expect(before.filter((what) => what === `put ${n}`)).toHaveLength(2);
    }
  });

  it('tells the source nothing more once one sink has failed', async () => {
    const trace: Trace = [];
    const sinks = { a: fakeSink().definition, b: failingOnce(fakeSink().definition, 3) };
    await runGraph(TEE, {
      sources: { in: fakeSource(pages, { trace }) },
      sinks,
      state: fakeState(new Map()),
    });
    expect(trace.filter((what) => what.startsWith('ack'))).toEqual(['ack 1', 'ack 2']);
  });

  it('stores nothing in a dry or limited run, and reads where it stands', async () => {
    const values = new Map<string, JsonValue>([
      ['graph::a', 6],
      ['graph::b', 6],
    ]);
    const trace: Trace = [];
    const sources = { in: fakeSource(pages, { trace, positional: true }) };
    const parts = {
      sources,
      sinks: { a: fakeSink().definition, b: fakeSink().definition },
      state: fakeState(values),
    };
    expect((await runGraph(TEE, parts, { dryRun: true })).records_written).toBe(8);
    expect((await runGraph(TEE, parts, { limit: 1 })).records_written).toBe(2);
    expect(Object.fromEntries(values)).toEqual({ 'graph::a': 6, 'graph::b': 6 });
    expect(trace).not.toContain('ack 8');
  });
});

describe('a graph of two sources', () => {
  it('stores no position and tells each source at the end', async () => {
    const values = new Map<string, JsonValue>([['graph::w', 7]]);
    const trace: Trace = [];
    const env = testEnv();
    const document: GraphDocument = {
      nodes: {
        x: { kind: 'source', type: 'x' },
        y: { kind: 'source', type: 'y' },
        m: { kind: 'merge' },
        w: { kind: 'sink', type: 'w' },
      },
      edges: [
        ['x', 'm'],
        ['y', 'm'],
        ['m', 'w'],
      ],
      pipeline: { state: { type: 'fake' } },
    };
    const sources = {
      x: fakeSource(pages.slice(0, 2), { trace }),
      y: fakeSource(pages.slice(0, 5), { trace }),
    };
    const outcome = await runGraph(
      document,
      { sources, sinks: { w: fakeSink({ trace }).definition }, state: fakeState(values) },
      { env },
    );
    expect(outcome.status).toBe('completed');
    expect(values.get('graph::w')).toBe(7);
    expect(trace.filter((what) => what.startsWith('read'))).toEqual([
      'read from null',
      'read from null',
    ]);
    expect(trace.filter((what) => what.startsWith('ack')).sort()).toEqual(['ack 2', 'ack 5']);
    expect(trace.indexOf('finish success')).toBeLessThan(
      trace.findIndex((what) => what.startsWith('ack')),
    );
    expect(env.lines.some(({ line }) => line.includes('the graph has 2 source nodes'))).toBe(true);
  });
});

describe('every sink has its own governance', () => {
  it('masks for the sinks a rule applies to, and only for them', async () => {
    const [a, b] = [fakeSink(), fakeSink()];
    const masking = {
      rules: [{ match: { fields: ['id'] }, action: { type: 'redact' }, applies_to: ['b'] }],
    };
    await runGraph(
      { ...TEE, pipeline: { masking } },
      { sources: { in: fakeSource(pages) }, sinks: { a: a.definition, b: b.definition } },
    );
    expect(a.records[0]).toEqual({ id: 0 });
    expect(b.records[0]).toEqual({ id: '***' });
  });

  it('gives each sink its own dead letters, which name the node', async () => {
    const dead = fakeSink();
    const odd = fakeSink({
      reject: (record) => (Number((record as JsonObject)['id']) % 2 === 1 ? 'odd' : undefined),
    });
    const outcome = await runGraph(
      { ...TEE, pipeline: { dlq: { sink: { type: 'dead' } } } },
      {
        sources: { in: fakeSource(pages) },
        sinks: { a: odd.definition, b: fakeSink().definition, dead: dead.definition },
      },
    );
    expect(
      outcome.invocations.map(({ balance }) => [
        balance.read,
        balance.written,
        balance.dead_lettered,
      ]),
    ).toEqual([
      [16, 8, 8],
      [16, 16, 0],
    ]);
    expect(new Set(dead.records.map((record) => (record as JsonObject)['row']))).toEqual(
      new Set(['a']),
    );
  });
});

describe('exactly once into two tables', () => {
  const document = (path: string): GraphDocument => {
    const sink = (type: string): JsonObject => ({
      kind: 'sink',
      type,
      config: { database_url: path, table_name: type, column_mapping: 'auto_map' },
    });
    const nodes = { ...TEE.nodes, a: sink('a'), b: sink('b') };
    return { ...TEE, nodes, top: { delivery: 'exactly_once' } };
  };
  const SETUP = 'PRAGMA journal_mode=WAL; CREATE TABLE a (id INTEGER); CREATE TABLE b (id INTEGER)';

  it('goes on after the sink that is furthest behind, and the other leaves out what it has', async () => {
    using table = sqliteTable(SETUP);
    const values = new Map<string, JsonValue>();
    const trace: Trace = [];
    const parts: GraphParts = {
      sources: { in: fakeSource(pages, { trace, positional: true }) },
      sinks: { a: sqliteSink, b: failingOnce(sqliteSink, 4) },
      state: fakeState(values),
    };
    expect((await runGraph(document(table.path), parts)).status).toBe('failed');
    const again = await runGraph(document(table.path), parts);
    expect(again.error).toBeNull();
    expect(trace.filter((what) => what.startsWith('read'))).toEqual([
      'read from null',
      'read from 3',
    ]);
    expect(
      again.invocations.map(({ balance }) => [balance.read, balance.written, balance.withheld]),
    ).toEqual([
      [10, 0, 10],
      [10, 10, 0],
    ]);
    for (const name of ['a', 'b'])
      expect(table.query(`SELECT id FROM ${name} ORDER BY id`).map(({ id }) => id)).toEqual(
        upTo(16),
      );
  });

  it('neither loses nor repeats a record when a run is killed anywhere', async () => {
    using table = sqliteTable(SETUP);
    const values = new Map<string, JsonValue>();
    for (let kill = 1; kill <= 8; kill += 1) {
      const killer = new AbortController();
      const beforePage = (index: number): void => {
        if (index === 1) killer.abort(new StopReason('kill', 'gone'));
      };
      const parts: GraphParts = {
        sources: { in: fakeSource(pages, { positional: true, beforePage }) },
        sinks: { a: sqliteSink, b: sqliteSink },
        state: fakeState(values),
      };
      await runGraph(document(table.path), parts, { killSignal: killer.signal });
      // The state may be behind what a sink has committed.
      if (kill % 2 === 0) values.delete('graph::b');
    }
    const sinks = { a: sqliteSink, b: sqliteSink };
    const last = await runGraph(document(table.path), {
      sources: { in: fakeSource(pages, { positional: true }) },
      sinks,
      state: fakeState(values),
    });
    expect(last.error).toBeNull();
    for (const name of ['a', 'b'])
      expect(table.query(`SELECT id FROM ${name} ORDER BY id`).map(({ id }) => id)).toEqual(
        upTo(16),
      );
  });

  it('refuses to guess when the source gives other pages than before', async () => {
    using table = sqliteTable(SETUP);
    const values = new Map<string, JsonValue>();
    const sinks = { a: sqliteSink, b: failingOnce(sqliteSink, 4) };
    await runGraph(document(table.path), {
      sources: { in: fakeSource(pages, { positional: true }) },
      sinks,
      state: fakeState(values),
    });
    const others = pages.map((page, index) => ({
      ...page,
      bookmark: index < 3 ? index + 1 : index + 100,
    }));
    const parts = {
      sources: { in: fakeSource(others, { positional: true }) },
      sinks,
      state: fakeState(values),
    };
    const outcome = await runGraph(document(table.path), parts);
    expect(outcome.error).toMatchObject({ code: 'positions_diverged', kind: 'State' });
    expect(table.query('SELECT count(*) AS n FROM a')).toEqual([{ n: 16 }]);
  });
});
