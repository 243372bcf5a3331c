import { describe, expect, test } from 'vitest';
import { issuesOf, plan, refusalOf } from '../../../test/fakes/documents.ts';
import { unscopedSources } from './rules.ts';

const document = (source: string, more: object = {}) =>
  JSON.stringify({
    version: 1,
    pipeline: {
      source: { type: 'lines', config: { path: source } },
      sink: { type: 'lines', config: { path: 'out' } },
    },
    ...more,
  });

const into = (path: string) => ({ sink: { config: { path } } });

describe('the tokens of backfills', () => {
  test('stay as they are in a plan that is looked at, and are refused in one that runs', () => {
    const text = document('in-${backfill.start_date}');
    expect(plan(text, { backfill: 'kept' }).rows[0]?.source).toMatchObject({ deferred: true });
    expect(issuesOf(() => plan(text))).toEqual(['token_out_of_scope pipeline.source.config.path']);
  });

  test('that no unit has are refused with the one that was meant', () => {
    const refusal = refusalOf(() => plan(document('${backfill.unti}'), { backfill: 'kept' }));
    expect(refusal.issues).toMatchObject([{ code: 'unknown_token', hint: 'did you mean `unit`?' }]);
  });

  test('may stand only in sources and sinks', () => {
    const transforms = {
      transforms: [{ type: 'set', config: { values: { day: '${backfill.start}' } } }],
    };
    const text = document('${backfill.start}', { matrix: [{ id: 'a', ...transforms }] });
    expect(issuesOf(() => plan(text, { backfill: 'kept' }))).toEqual([
      'token_out_of_scope matrix[0].transforms[0].config.values.day',
    ]);
  });
});

describe('a document with a `backfill` block', () => {
  test('names a window in every source that reads by itself', () => {
    const rows = [
      { id: 'users', source: { config: { path: 'u-${backfill.unit}' } }, ...into('u') },
      {
        id: 'orders',
        parent: 'users',
        source: { config: { path: 'o-${users.id}' } },
        ...into('o-${users.id}'),
      },
      { id: 'events', source: { config: { path: '${now.date}' } }, ...into('e') },
      { id: 'all', source: { config: { path: 'all' } }, ...into('a') },
    ];
    const text = (block: object) => document('in', { ...block, matrix: rows });
    expect(issuesOf(() => plan(text({ backfill: {} }), { backfill: 'kept' }))).toEqual([
      'backfill_unscoped matrix[3].source.config',
    ]);
    expect(unscopedSources(plan(text({}), { backfill: 'kept' })).map(({ id }) => id)).toEqual([
      'all',
    ]);
  });

  test('or in every source node of a graph', () => {
    const nodes = {
      a: { kind: 'source', type: 'lines', config: { path: 'a-${backfill.unit}' } },
      b: { kind: 'source', type: 'lines', config: { path: 'b' } },
      both: { kind: 'merge' },
      out: { kind: 'sink', type: 'lines', config: { path: 'out' } },
    };
    const edges = [
      { from: 'a', to: 'both' },
      { from: 'b', to: 'both' },
      { from: 'both', to: 'out' },
    ];
    const text = JSON.stringify({
      version: 1,
      backfill: { window: '1d' },
      pipeline: { nodes, edges },
    });
    const refusal = refusalOf(() => plan(text, { backfill: 'kept' }));
    expect(refusal.issues).toMatchObject([
      { code: 'backfill_unscoped', message: expect.stringContaining('source node `b`') as unknown },
    ]);
  });

  test('runs as if it were not there where its sources name the clock', () => {
    const made = plan(
      document('in-${now.date}', { backfill: { window: '1d', timezone: 'Asia/Tokyo' } }),
    );
    expect(made).toMatchObject({
      blocks: { backfill: { window: '1d', timezone: 'Asia/Tokyo', concurrency: 1 } },
      rows: [{ id: 'row-0' }],
    });
  });
});

test('a document with a `schedule` runs as if it were not there', () => {
  const made = plan(document('in', { schedule: { cron: '0 3 * * *' } }));
  expect(made.blocks['schedule']).toEqual({
    cron: '0 3 * * *',
    timezone: 'UTC',
    overlap_policy: 'skip',
    on_failure: 'continue',
    start_immediately: false,
    shutdown_grace_secs: 30,
  });
});
