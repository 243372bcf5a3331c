import { describe, expect, it } from 'vitest';
import { issuesOf, load } from '../../test/fakes/documents.ts';
import { graphPlan, partsOf, type Edge, type GraphDocument } from '../../test/fakes/graph.ts';
import { fakeSink, fakeSource } from '../../test/fakes/plan.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { planDocument } from './plan-document.ts';
import type { PlannedEdge } from './plan.ts';

const parts = partsOf({ sources: { s: fakeSource([]) }, sinks: { w: fakeSink().definition } });
const source: JsonObject = { kind: 'source', type: 's' };
const sink: JsonObject = { kind: 'sink', type: 'w' };
const tee: JsonObject = { kind: 'tee' };
const set: JsonObject = {
  kind: 'transform',
  transforms: [{ type: 'set', config: { values: { a: 1 } } }],
};
const join = (build: string, probe: string): JsonObject => ({
  kind: 'join',
  build: { edge: build, key: 'id' },
  probe: { edge: probe, key: 'id' },
});

function edgesOf(
  nodes: JsonObject,
  edges: readonly Edge[],
  more: Partial<GraphDocument> = {},
): readonly PlannedEdge[] {
  return graphPlan({ nodes, edges, ...more }, parts).topology?.edges ?? [];
}

const named = (edges: readonly PlannedEdge[], pick: (edge: PlannedEdge) => boolean): string[] =>
  edges
    .filter(pick)
    .map(({ from, to, label }) => `${from}>${to}${label === undefined ? '' : `:${label}`}`);

describe('an edge may spill', () => {
  const spilling = (nodes: JsonObject, edges: readonly Edge[]): string[] =>
    named(edgesOf(nodes, edges), (edge) => edge.spills);

  it('when one tee leads to both sides of a join, directly or through others', () => {
    const nodes = { s: source, t: tee, x: set, j: join('b', 'p'), w: sink };
    expect(
      spilling(nodes, [
        ['s', 't'],
        ['t', 'j', 'b'],
        ['t', 'x'],
        ['x', 'j', 'p'],
        ['j', 'w'],
      ]),
    ).toEqual(['x>j:p']);
  });

  it('when the tees of two joins wait for each other', () => {
    const nodes = {
      a: source,
      b: source,
      ta: tee,
      tb: tee,
      j: join('b', 'p'),
      k: join('b', 'p'),
      w: sink,
      v: sink,
    };
    const edges: Edge[] = [
      ['a', 'ta'],
      ['b', 'tb'],
      ['ta', 'j', 'b'],
      ['tb', 'j', 'p'],
      ['tb', 'k', 'b'],
      ['ta', 'k', 'p'],
      ['j', 'w'],
      ['k', 'v'],
    ];
    expect(spilling(nodes, edges)).toEqual(['tb>j:p', 'ta>k:p']);
  });

  it('not when the two sides have sources of their own, or the tee feeds only one of them', () => {
    expect(
      spilling({ a: source, b: source, j: join('b', 'p'), w: sink }, [
        ['a', 'j', 'b'],
        ['b', 'j', 'p'],
        ['j', 'w'],
      ]),
    ).toEqual([]);
    const nodes = { a: source, b: source, t: tee, j: join('b', 'p'), w: sink, v: sink };
    expect(
      spilling(nodes, [
        ['a', 'j', 'b'],
        ['b', 't'],
        ['t', 'j', 'p'],
        ['t', 'v'],
        ['j', 'w'],
      ]),
    ).toEqual([]);
  });
});

describe('the records of an edge', () => {
  it('are shared behind a tee, and again the consumer’s own behind a transform', () => {
    const nodes = { s: source, t: tee, x: set, none: { kind: 'transform' }, w: sink, v: sink };
    const edges = edgesOf(nodes, [
      ['s', 't'],
      ['t', 'x'],
      ['x', 'w'],
      ['t', 'none'],
      ['none', 'v'],
    ]);
    expect(named(edges, (edge) => !edge.owned)).toEqual(['t>x', 't>none', 'none>v']);
  });
});

it('an edge that leaves a tee holds what the tee says', () => {
  const edges = edgesOf({ s: source, t: { kind: 'tee', channel_capacity: 9 }, w: sink, v: sink }, [
    ['s', 't'],
    ['t', 'w'],
    ['t', 'v'],
  ]);
  expect(edges.map(({ capacity }) => capacity)).toEqual([4, 9, 9]);
});

it('nodes stand after those that feed them, each sink is a row, and its state key names it', () => {
  const document = { v: sink, t: tee, w: sink, s: source };
  const plan = graphPlan(
    {
      nodes: document,
      edges: [
        ['t', 'w'],
        ['s', 't'],
        ['t', 'v'],
      ],
    },
    parts,
  );
  expect(plan.topology?.nodes.map(({ id }) => id)).toEqual(['s', 't', 'v', 'w']);
  expect(plan.rows.map(({ id, stateKey, source: from }) => [id, stateKey, from.type])).toEqual([
    ['v', 'graph::v', 's'],
    ['w', 'graph::w', 's'],
  ]);
  expect(plan.rows[0]?.lane).toMatchObject({
    lane: { form: 'records' },
    reason: 'records: nodes hand on records',
  });
});

describe('what can never have an effect is reported', () => {
  it('as a warning where it is harmless', () => {
    const plan = graphPlan(
      {
        nodes: { s: source, w: sink },
        edges: [['s', 'w', 'main']],
        top: {
          execution: { max_concurrent: 2, schedule: 'lpt' },
          selection: { include_parents: 'all' },
        },
        pipeline: { sources: { default: { type: 's', tags: ['a'], status: 'draft' } } },
      },
      parts,
    );
    expect(plan.warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'without_effect execution.max_concurrent',
      'without_effect execution.schedule',
      'without_effect selection.include_parents',
      'without_effect pipeline.edges[0].as',
      'without_effect pipeline.sources.default.tags',
      'without_effect pipeline.sources.default.status',
    ]);
  });

  it('and as an error where something would be missing', () => {
    const written = (preset: JsonObject, top: JsonObject = {}): string => {
      const nodes = { s: source, w: sink };
      const document = {
        version: 1,
        ...top,
        pipeline: {
          sources: { default: { type: 's', ...preset } },
          nodes,
          edges: [{ from: 's', to: 'w' }],
        },
      };
      return issuesOf(() =>
        planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 }),
      ).join();
    };
    expect(written({ transforms: [{ type: 'flatten' }] })).toBe(
      'conflicting_keys pipeline.sources.default.transforms',
    );
    expect(written({}, { matrix: [{ id: 'a' }] })).toBe('conflicting_keys matrix');
    const partition = { kind: 'integer', from: 0, to: 9, chunk_size: 5, bounds: 'inclusive' };
    expect(written({}, { partition })).toBe('conflicting_keys partition');
    expect(written({ config: { path: '${partition.start}' } }, { partition })).toBe(
      'conflicting_keys partition',
    );
  });

  it('and flags that select rows are refused', () => {
    const document = load(
      JSON.stringify({
        version: 1,
        pipeline: { nodes: { s: source, w: sink }, edges: [{ from: 's', to: 'w' }] },
      }),
      {
        format: 'json',
      },
    );
    expect(
      issuesOf(() => planDocument(document, parts, { cpus: 1, selection: { select: ['w'] } })),
    ).toEqual(['selection_without_matrix ']);
  });

  it('a graph of too many nodes is refused before it is looked at', () => {
    const nodes = Object.fromEntries(
      Array.from({ length: 501 }, (_, index) => [`n${index}`, sink]),
    );
    expect(() => edgesOf(nodes, [])).toThrow('at most 500 nodes');
  });
});
