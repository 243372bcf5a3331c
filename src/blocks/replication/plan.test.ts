import { describe, expect, test } from 'vitest';
import { issuesOf, plan, refusalOf } from '../../../test/fakes/documents.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { replicationOf } from './index.ts';

interface Parts {
  readonly source?: JsonObject;
  readonly sink?: JsonObject;
  readonly state?: JsonObject | null;
  readonly snapshot?: JsonObject;
  readonly more?: JsonObject;
}

const UPSERT = { type: 'table', config: { table: 't', write_mode: 'upsert', key: ['id'] } };

function document({
  source = { type: 'changes' },
  sink = UPSERT,
  state = { type: 'folder', config: { path: 'state' } },
  snapshot = { type: 'lines', config: { path: 'rows' } },
  more = {},
}: Parts = {}): string {
  return JSON.stringify({
    version: 1,
    replication: { snapshot: { source: snapshot } },
    pipeline: { source, sink, ...(state === null ? {} : { state }) },
    ...more,
  });
}

describe('a replication', () => {
  test('has a source of rows, and goes on until it is stopped', () => {
    const made = plan(document());
    expect(made.warnings).toEqual([]);
    expect(replicationOf(made)).toMatchObject({
      name: 'replication',
      source: { type: 'lines', path: 'replication.snapshot.source', parsed: { path: 'rows' } },
      continuous: true,
    });
  });

  test('may be called `mirror`, but not both', () => {
    const mirror = {
      continuous: false,
      snapshot: { source: { type: 'lines', config: { path: 'rows' } } },
    };
    const made = plan(document({ more: { replication: null, mirror } }));
    expect(replicationOf(made)).toMatchObject({ name: 'mirror', continuous: false });
    expect(issuesOf(() => plan(document({ more: { mirror } })))).toEqual([
      'conflicting_keys mirror',
    ]);
  });

  test.each<readonly [string, Parts, string]>([
    ['a source of changes', { source: { type: 'lines', config: { path: 'x' } } }, 'replication'],
    ['a state', { state: null }, 'replication'],
    ['a state that lasts', { state: { type: 'memory' } }, 'replication'],
    ['a snapshot of rows', { snapshot: { type: 'changes' } }, 'replication.snapshot.source'],
    [
      'a sink that does not replace what it wrote',
      { sink: { type: 'lines', config: { path: 'out' } } },
      'replication',
    ],
    [
      'a sink that does not empty its table',
      { sink: { type: 'table', config: { table: 't', write_mode: 'overwrite' } } },
      'replication',
    ],
    [
      'one row',
      { more: { matrix: [{ id: 'a' }, { id: 'b', sink: { config: { table: 'u' } } }] } },
      'replication',
    ],
  ])('needs %s', (_what, parts, path) => {
    const refusal = refusalOf(() => plan(document(parts)));
    expect(refusal.issues).toContainEqual(
      expect.objectContaining({ code: 'replication_impossible', path }),
    );
  });

  test('is doubted where the sink only adds records', () => {
    const sink = { type: 'table', config: { table: 't' } };
    expect(plan(document({ sink })).warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'replication_not_keyed replication',
    ]);
  });

  test('is exactly once only where the snapshot is', () => {
    const sink = { type: 'table', config: { table: 't' } };
    const more = { delivery: 'exactly_once' };
    expect(issuesOf(() => plan(document({ sink, more })))).toEqual([
      'exactly_once_unreachable replication.snapshot.source',
    ]);
    expect(plan(document({ more })).rows[0]?.delivery).toBe('exactly_once');
  });

  test('has no other mode, and needs to know how rows are read', () => {
    const replication = { mode: 'cdc_only' };
    expect(issuesOf(() => plan(document({ more: { replication } })))).toEqual([
      'missing_key replication.snapshot',
      'invalid_value replication.mode',
    ]);
  });
});
