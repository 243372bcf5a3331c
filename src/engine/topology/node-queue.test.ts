import { describe, expect, it } from 'vitest';
import { countedMetrics } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { graphPlan, partsOf, runGraph, type GraphDocument } from '../../../test/fakes/graph.ts';
import { issuesOf } from '../../../test/fakes/documents.ts';
import { fakeSink, fakeSource, fakeState, type FakePage } from '../../../test/fakes/plan.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import type { StateStoreDefinition } from '../../kit/state-store.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

const CAST = { type: 'cast', config: { fields: { n: 'int' }, on_error: 'dlq' } };
const DLQ = { dlq: { sink: { type: 'dead' } } };

/** in → t → out */
function line(pipeline: JsonObject = DLQ, transforms: JsonObject[] = [CAST]): GraphDocument {
  return {
    nodes: {
      in: { kind: 'source', type: 'in' },
      t: { kind: 'transform', transforms },
      out: { kind: 'sink', type: 'out' },
    },
    edges: [
      ['in', 't'],
      ['t', 'out'],
    ],
    pipeline,
  };
}

const PAGES: FakePage[] = [
  { records: [{ n: '1' }, { n: 'x' }], bookmark: 1 },
  {
    records: [{ n: '2' }],
    bookmark: 2,
    rejected: [
      { message: 'line 4 of f is not JSON', payload: '{', input: 'f', at: { line: 4 }, index: 0 },
    ],
  },
];

const rejecting = (pages: readonly FakePage[]): SourceDefinition => ({
  ...fakeSource(pages),
  quarantines: () => true,
});

function ends(dead = fakeSink({ name: 'dlq' })) {
  const out = fakeSink({ name: 'out' });
  return { out, dead, sinks: { out: out.definition, dead: dead.definition } };
}

describe('nodes before the sinks of a graph', () => {
  it('put aside what a source cannot read and what a transform says, and count it', async () => {
    const { out, dead, sinks } = ends();
    const metrics = countedMetrics();
    const env = testEnv({ metrics });
    const outcome = await runGraph(line(), { sources: { in: rejecting(PAGES) }, sinks }, { env });
    expect(outcome).toMatchObject({ status: 'completed', records_written: 2, error: null });
    expect(out.records).toEqual([{ n: 1 }, { n: 2 }]);
    expect(outcome.nodes).toMatchObject([
      { id: 'in', records_in: 4, dead_lettered: 1, records_out: 3 },
      { id: 't', records_in: 3, dead_lettered: 1, records_out: 2 },
    ]);
    expect(outcome.invocations[0]?.balance).toMatchObject({ read: 2, dead_lettered: 0 });
    expect(dead.records).toMatchObject([
      {
        reason: 'transform',
        row: 't',
        sink: 'out',
        payload: { n: 'x' },
        record_index: 1,
        error: {
          kind: 'Transform',
          message: expect.stringContaining('pipeline.nodes.t') as string,
        },
      },
      {
        reason: 'parse',
        row: 'in',
        payload: '{',
        record_number: 3,
        position: { input: 'f', line: 4, page: 2 },
      },
    ]);
    expect(metrics.of('svc_sink_dlq_records_total')).toEqual({
      '{graph,in,out,dead}': 1,
      '{graph,t,out,dead}': 1,
    });
    expect(metrics.of('svc_source_records_total')).toEqual({ '{graph,in,in}': 4 });
  });

  it('have them durable before a sink stores a position behind them', async () => {
    // Written and not flushed yet, over all that opened the queue.
    let pending = 0;
    const dead = fakeSink({ name: 'dlq' });
    const watched: SinkDefinition = {
      ...dead.definition,
      open: async (config, context) => {
        const sink = await dead.definition.open(config, context);
        let own = 0;
        return {
          ...sink,
          write: (page, options) => {
            own += page.count;
            pending += page.count;
            return sink.write(page, options);
          },
          flush: () => {
            pending -= own;
            own = 0;
            return sink.flush();
          },
        };
      },
    };
    const stored: JsonValue[] = [];
    const state = fakeState(new Map());
    const watching: StateStoreDefinition = {
      ...state,
      open: async (config, context) => {
        const store = await state.open(config, context);
        return {
          ...store,
          put: (key, value) => {
            stored.push([value, pending]);
            return store.put(key, value);
          },
        };
      },
    };
    const { sinks } = ends({ ...dead, definition: watched });
    await runGraph(
      { ...line(), pipeline: { ...DLQ, state: { type: 'fake' } } },
      { sources: { in: rejecting(PAGES) }, sinks, state: watching },
    );
    expect(dead.records).toHaveLength(2);
    expect(stored).toEqual([
      [1, 0],
      [2, 0],
    ]);
  });

  it('end the run when a budget is overrun, with the dead letters kept', async () => {
    const { dead, sinks } = ends();
    const pipeline = { dlq: { sink: { type: 'dead' }, max_failures_total: 1 } };
    const pages = [{ records: [{ n: 'x' }, { n: 'y' }] }];
    const { error } = await runGraph(line(pipeline), { sources: { in: fakeSource(pages) }, sinks });
    expect(error).toMatchObject({ code: 'dlq_budget_exceeded' });
    expect(dead.records).toHaveLength(2);
  });

  it('fail the run when the queue takes no dead letter', async () => {
    const broken = fakeSink({
      onWrite: () => {
        throw new Error('no room');
      },
    });
    const { sinks } = ends(broken);
    const outcome = await runGraph(line(), { sources: { in: fakeSource(PAGES) }, sinks });
    expect(outcome.status).toBe('failed');
    expect(outcome.error?.message).toContain('t: ');
  });

  it('write nothing in a dry run, and count all the same', async () => {
    const { dead, sinks } = ends();
    const options = { dryRun: true };
    const outcome = await runGraph(line(), { sources: { in: rejecting(PAGES) }, sinks }, options);
    expect(outcome.status).toBe('completed');
    expect(outcome.nodes?.map((node) => node.dead_lettered)).toEqual([1, 1]);
    expect(dead.records).toEqual([]);
  });

  it('need a queue, which the document says once', () => {
    const parts = partsOf({ sources: { in: rejecting([]) }, sinks: ends().sinks });
    expect(issuesOf(() => graphPlan(line({}), parts))).toEqual([
      'dlq_required pipeline.nodes.in',
      'dlq_required pipeline.nodes.t.transforms[0]',
    ]);
    expect(graphPlan(line(), parts).rows).toHaveLength(1);
  });
});

describe('masking, which is a matter of the sinks', () => {
  const masking = { rules: [{ match: { fields: ['mail'] }, action: { type: 'redact' } }] };
  const record = { n: 'x', mail: 'a@b.c' };

  async function letters(document: GraphDocument, sources: Record<string, SourceDefinition>) {
    const { dead, sinks } = ends();
    const pipeline = { ...DLQ, masking };
    await runGraph({ ...document, pipeline }, { sources, sinks });
    return dead.records.map((letter) => (letter as Record<string, JsonValue>)['payload']);
  }

  it('hides in dead letters of nodes what it hides behind them, under the names of the node', async () => {
    const sources = { in: fakeSource([{ records: [record, { n: 'y', m: 'a@b.c' }] }]) };
    expect(await letters(line(), sources)).toEqual([
      { n: 'x', mail: '***' },
      { n: 'y', m: 'a@b.c' },
    ]);
    const renaming = { type: 'rename_field', config: { fields: { m: 'mail' } } };
    expect(await letters(line(DLQ, [CAST, renaming]), sources)).toEqual([
      { n: 'x', mail: '***' },
      { n: 'y', m: '***' },
    ]);
  });

  it('hides all where names are lost on the way: in a join, or in one branch of several', async () => {
    const tee = (config: JsonObject): GraphDocument => ({
      nodes: {
        ...line().nodes,
        both: { kind: 'tee' },
        r: { kind: 'transform', transforms: [config] },
        other: { kind: 'sink', type: 'out' },
      },
      edges: [
        ['in', 't'],
        ['t', 'both'],
        ['both', 'r'],
        ['both', 'out'],
        ['r', 'other'],
      ],
    });
    const sources = { in: fakeSource([{ records: [record] }]) };
    expect(
      await letters(tee({ type: 'rename_field', config: { fields: { a: 'b' } } }), sources),
    ).toEqual([{ n: '***', mail: '***' }]);
    expect(await letters(tee({ type: 'drop', config: { fields: ['a'] } }), sources)).toEqual([
      { n: 'x', mail: '***' },
    ]);
    const join: GraphDocument = {
      nodes: {
        ...line().nodes,
        more: { kind: 'source', type: 'more' },
        j: {
          kind: 'join',
          mode: 'left',
          build: { edge: 'right', key: 'n' },
          probe: { edge: 'left', key: 'n' },
          project: [{ from: 'name', as: 'name' }],
        },
      },
      edges: [
        ['in', 't'],
        ['t', 'j', 'left'],
        ['more', 'j', 'right'],
        ['j', 'out'],
      ],
    };
    expect(await letters(join, { ...sources, more: fakeSource([]) })).toEqual([
      { n: '***', mail: '***' },
    ]);
  });
});
