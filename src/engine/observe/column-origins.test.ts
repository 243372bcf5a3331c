import { describe, expect, it } from 'vitest';
import { defineTransform, type ColumnFlow } from '../../kit/transform.ts';
import { z } from 'zod';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { graphPlan, partsOf } from '../../../test/fakes/graph.ts';
import { fakeSink, fakeSource, part, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { columnOriginsOf } from './column-origins.ts';
import type { RecordShape } from './samples.ts';

function transform(flow: ColumnFlow) {
  return part(
    defineTransform({
      type: 'fake',
      description: 'declares its columns',
      config: z.any(),
      examples: [],
      reads: () => ({ kind: 'record' }),
      columns: () => flow,
      compile: () => ({ kind: 'record', apply: (record, emit) => emit(record) }),
    }),
  );
}

const shape = (...names: string[]): RecordShape =>
  names.map((name) => ({ name, types: ['string'], nulls: false }));

function originsOf(
  flows: readonly ColumnFlow[],
  written: readonly string[],
  over: Partial<PlannedRow> = {},
) {
  const row = plannedRow(fakeSource([]), fakeSink().definition, {
    transforms: flows.map(transform),
    ...over,
  });
  const plan = planOf([row]);
  const shapes = { read: new Map([[row.id, shape('a', 'b', 'c')]]), written: shape(...written) };
  return columnOriginsOf(row, plan, shapes);
}

describe('where columns come from', () => {
  it('follows renames and swaps back to what was read', () => {
    const flows: ColumnFlow[] = [
      { kind: 'rename', fields: { a: 'b', b: 'a' } },
      { kind: 'identity' },
      { kind: 'rename', fields: { a: 'x' } },
    ];
    expect(originsOf(flows, ['x', 'b', 'c'])).toEqual({ x: ['b'], b: ['a'], c: ['c'] });
  });

  it('leaves out what is made of nothing, dropped, or put on before the write', () => {
    const flows: ColumnFlow[] = [
      { kind: 'drop', fields: ['c'] },
      { kind: 'add', fields: ['c', 'n'] },
      { kind: 'select', fields: ['a', 'c', 'n'] },
    ];
    const over: Partial<PlannedRow> = { metadataColumns: [{ column: 'run_id', name: 'b' }] };
    expect(originsOf(flows, ['a', 'c', 'n', 'b'], over)).toEqual({ a: ['a'] });
  });

  it('may be several, and other columns than the one of their name', () => {
    const flows: ColumnFlow[] = [
      { kind: 'derive', fields: { c: ['a'], d: ['b', 'a'] } },
      { kind: 'rename', fields: { d: 'e' } },
      { kind: 'derive', fields: { a: ['a', 'c'] } },
    ];
    expect(originsOf(flows, ['a', 'b', 'c', 'e'])).toEqual({
      a: ['a'],
      b: ['b'],
      c: ['a'],
      e: ['b', 'a'],
    });
  });

  it('is unknown behind a transform that says nothing of its columns', () => {
    expect(originsOf([{ kind: 'opaque' }, { kind: 'identity' }], ['a'])).toBeUndefined();
  });

  it('is unknown when no record was looked at', () => {
    expect(originsOf([], [])).toBeUndefined();
  });
});

describe('where columns come from in a graph', () => {
  const parts = partsOf({ sources: { in: fakeSource([]) }, sinks: { out: fakeSink().definition } });
  const rename = {
    kind: 'transform',
    transforms: [{ type: 'rename_field', config: { fields: { a: 'x' } } }],
  };
  const shapes = { read: new Map([['s', shape('a', 'b')]]), written: shape('x', 'b') };
  const rowOf = (plan: Plan): PlannedRow => plan.rows[0] as PlannedRow;

  it('follows the only way, also behind a tee', () => {
    const plan = graphPlan(
      {
        nodes: {
          s: { kind: 'source', type: 'in' },
          t: { kind: 'tee' },
          r: rename,
          one: { kind: 'sink', type: 'out' },
          two: { kind: 'sink', type: 'out' },
        },
        edges: [
          ['s', 't'],
          ['t', 'r'],
          ['r', 'one'],
          ['t', 'two'],
        ],
      },
      parts,
    );
    expect(columnOriginsOf(rowOf(plan), plan, shapes)).toEqual({ x: ['a'], b: ['b'] });
  });

  it('is unknown where several ways meet', () => {
    const plan = graphPlan(
      {
        nodes: {
          s: { kind: 'source', type: 'in' },
          s2: { kind: 'source', type: 'in' },
          m: { kind: 'merge' },
          one: { kind: 'sink', type: 'out' },
        },
        edges: [
          ['s', 'm'],
          ['s2', 'm'],
          ['m', 'one'],
        ],
      },
      parts,
    );
    expect(columnOriginsOf(rowOf(plan), plan, shapes)).toBeUndefined();
  });
});
