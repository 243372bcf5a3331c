import { describe, expect, test } from 'vitest';
import { parts } from '../../parts.ts';
import { issuesOf, load } from '../../../test/fakes/documents.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { Plan } from '../../plan/plan.ts';

const SQLITE = {
  database_url: 'sqlite:a.db',
  table_name: 't',
  column_mapping: 'auto_map',
  write_mode: 'upsert',
  key: ['id'],
};
const DELETE = { scope: { region: 'eu' }, on_missing: 'delete' };

function planOf(
  completeFor: unknown,
  more: { sink?: object; pipeline?: object; rest?: object } = {},
): Plan {
  const source = { type: 'jsonl', config: { path: 'in.jsonl' }, complete_for: completeFor };
  const sink = { type: 'sqlite', config: { ...SQLITE, ...more.sink } };
  const document = {
    version: 1,
    name: 'n',
    ...more.rest,
    pipeline: { source, sink, ...more.pipeline },
  };
  return planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
}

const refused = (...args: Parameters<typeof planOf>): string[] => issuesOf(() => planOf(...args));

describe('what a read is complete for', () => {
  test('is planned only where records are to be removed that no longer exist at the source', () => {
    expect(planOf(DELETE).rows[0]?.cleanUp).toMatchObject({
      path: 'pipeline.source.complete_for.scope',
      scope: { region: 'eu' },
    });
    expect(planOf({ scope: { region: 'eu' } }).rows[0]?.cleanUp).toBeUndefined();
  });

  test('has a scope of columns and plain values', () => {
    expect(refused({ scope: {}, on_missing: 'delete' })).toEqual([
      'out_of_range pipeline.source.complete_for.scope',
    ]);
    expect(refused({ on_missing: 'delete' })).toEqual([
      'missing_key pipeline.source.complete_for.scope',
    ]);
    expect(refused({ scope: { a: [1] } })).toContain(
      'wrong_type pipeline.source.complete_for.scope.a',
    );
    expect(refused({ scope: { a: 1 }, on_mising: 'delete' })).toEqual([
      'unknown_key pipeline.source.complete_for.on_mising',
    ]);
  });

  test('may be said by a row, instead of its preset', () => {
    const matrix = [
      { id: 'a' },
      {
        id: 'b',
        source: { complete_for: { scope: { region: 'us' }, on_missing: 'delete' } },
        sink: { config: { table_name: 'b' } },
      },
    ];
    const { rows } = planOf(DELETE, { rest: { matrix } });
    expect(rows.map((row) => row.cleanUp?.scope)).toEqual([{ region: 'eu' }, { region: 'us' }]);
  });

  test('may hold dates and values of the parent record, which the parent then keeps', () => {
    const matrix = [
      { id: 'shops', source: { complete_for: null } },
      {
        id: 'items',
        parent: 'shops',
        source: {
          complete_for: {
            scope: { shop: '${shops.code}', day: '${now.date}' },
            on_missing: 'delete',
          },
        },
        sink: { config: { table_name: 'x-${shops.id}' } },
      },
    ];
    const { rows } = planOf(undefined, { rest: { matrix } });
    expect(rows.find((row) => row.id === 'items')?.parent?.fields).toEqual(
      expect.arrayContaining(['code', 'id']),
    );
    expect(refused({ scope: { a: '${shops.id}' } })).toEqual([
      'unknown_row pipeline.source.complete_for.scope.a',
    ]);
  });
});

describe('records that no longer exist at the source cannot be removed', () => {
  const path = 'clean_up_unsafe pipeline.source.complete_for.on_missing';
  test.each<[string, NonNullable<Parameters<typeof planOf>[1]>]>([
    ['from what has no key', { sink: { write_mode: 'append', key: [] } }],
    ['by a sink without a way to do it', { pipeline: { sink: { type: 'stdout', config: {} } } }],
    [
      'where the source keeps records aside',
      {
        pipeline: {
          source: {
            type: 'jsonl',
            config: { path: 'in.jsonl', on_error: 'dlq' },
            complete_for: DELETE,
          },
          dlq: { sink: { type: 'stdout', config: {} } },
        },
      },
    ],
    [
      'where quality keeps records aside',
      {
        pipeline: {
          quality: { record: [{ type: 'not_null', field: 'id', on_failure: 'quarantine' }] },
          dlq: { sink: { type: 'stdout', config: {} } },
        },
      },
    ],
    [
      'where the contract keeps records aside',
      {
        pipeline: {
          contract: {
            version: '1',
            on_breach: 'quarantine',
            fields: [{ name: 'id', type: 'integer' }],
          },
          dlq: { sink: { type: 'stdout', config: {} } },
        },
      },
    ],
    [
      'where drift keeps records aside',
      {
        pipeline: {
          schema: { on_drift: 'quarantine' },
          dlq: { sink: { type: 'stdout', config: {} } },
        },
      },
    ],
    ['with exactly-once delivery', { rest: { delivery: 'exactly_once' } }],
  ])('%s', (_where, more) => {
    expect(refused(DELETE, more)).toContain(path);
    expect(refused(DELETE, more).filter((issue) => issue === path)).toHaveLength(1);
  });
});
