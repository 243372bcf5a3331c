import { describe, expect, test } from 'vitest';
import { parts } from '../../parts.ts';
import { issuesOf, load, refusalOf } from '../../../test/fakes/documents.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { Plan } from '../../plan/plan.ts';

const SQLITE = {
  type: 'sqlite',
  config: { database_url: 'sqlite:a.db', table_name: 't', column_mapping: 'auto_map' },
};
const STATE = { type: 'file', config: { path: 'state' } };

function planOf(
  more: { sink?: object; pipeline?: object; rest?: object; rollback?: unknown } = {},
): Plan {
  const source = { type: 'csv', config: { path: 'in.csv' } };
  const pipeline = { source, sink: { ...SQLITE, ...more.sink }, state: STATE, ...more.pipeline };
  const document = {
    version: 1,
    name: 'n',
    rollback: 'rollback' in more ? more.rollback : {},
    ...more.rest,
    pipeline,
  };
  return planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
}

function whyNot(more: Parameters<typeof planOf>[0]): string {
  const { issues } = refusalOf(() => planOf(more));
  expect(issues.map(({ code, path }) => `${code} ${path}`)).toEqual([
    'rollback_unreachable rollback',
  ]);
  return issues[0]?.message ?? '';
}

describe('rollback', () => {
  test('marks every record with the id of its run, and keeps what that needs', () => {
    const [row] = planOf().rows;
    expect(row?.blocks['rollback']).toEqual({
      column: '_svc_run_id',
      journal: true,
      keepPrevious: true,
      retain: 10,
    });
    expect(row?.metadataColumns).toEqual([{ column: 'run_id', name: '_svc_run_id' }]);
    expect(row?.lane.reason).toBe('records: `rollback` marks every record with the id of its run');
    expect(
      planOf({ rollback: { journal: false, keep_previous: false, retain: 3 } }).rows[0]?.blocks[
        'rollback'
      ],
    ).toEqual({
      column: '_svc_run_id',
      journal: false,
      keepPrevious: false,
      retain: 3,
    });
  });

  test('may be switched off or left out', () => {
    for (const rollback of [undefined, null, { enabled: false }]) {
      const [row] = planOf({ rollback, pipeline: { state: null } }).rows;
      expect([row?.blocks['rollback'], row?.metadataColumns]).toEqual([undefined, undefined]);
    }
  });

  test('joins the metadata columns that are asked for, under their prefix', () => {
    const named = (block: object): string[] =>
      (planOf({ rest: { metadata_columns: block } }).rows[0]?.metadataColumns ?? []).map(
        ({ name }) => name,
      );
    expect(named({ prefix: '_load', columns: ['sequence'] })).toEqual([
      '_load_sequence',
      '_load_run_id',
    ]);
    expect(named({})).toEqual([
      '_svc_extracted_at',
      '_svc_loaded_at',
      '_svc_run_id',
      '_svc_source',
    ]);
    expect(issuesOf(() => planOf({ rest: { metadata_columns: { enabled: false } } }))).toEqual([
      'rollback_unreachable metadata_columns.enabled',
    ]);
  });

  test('is refused with the side that does not permit it', () => {
    expect(whyNot({ pipeline: { state: null } })).toBe(
      'runs of the pipeline cannot be undone: it has no `state` to remember them in',
    );
    expect(whyNot({ pipeline: { state: { type: 'memory' } } })).toContain(
      'its state store `memory` forgets them',
    );
    expect(whyNot({ sink: { type: 'jsonl', config: { path: 'out.jsonl' } } })).toContain(
      'its sink `jsonl` offers no way to do it',
    );
    expect(whyNot({ sink: { config: { ...SQLITE.config, column_mapping: 'json' } } })).toContain(
      'its sink `sqlite` stores whole records',
    );
    expect(
      whyNot({ sink: { config: { ...SQLITE.config, database_url: 'sqlite::memory:' } } }),
    ).toContain('does not write a database file');
    expect(
      whyNot({
        sink: { config: { ...SQLITE.config, write_mode: 'upsert', key: ['_svc_run_id'] } },
      }),
    ).toContain('a part of the `key`');
    const nodes = { a: { kind: 'source' }, b: { kind: 'sink' } };
    expect(whyNot({ pipeline: { nodes, edges: [{ from: 'a', to: 'b' }] } })).toContain(
      'its source feeds other nodes too',
    );
  });

  test('is refused where the key of a run would be too long for a store', () => {
    expect(issuesOf(() => planOf({ rest: { name: 'n'.repeat(200) } }))).toEqual([
      'invalid_state_key ',
    ]);
  });

  test('only marks the rows of invocations that are not undone', () => {
    const matrix = [
      { id: 'parents' },
      { id: 'children', parent: 'parents', sink: { config: { table_name: 'c' } } },
      {
        id: 'files',
        parent: 'parents',
        sink: { type: 'jsonl', config: { path: 'c.jsonl', append: true } },
      },
    ];
    const rows = planOf({ rest: { matrix }, sink: { config: SQLITE.config } }).rows;
    expect(rows.map((row) => row.blocks['rollback'] !== undefined)).toEqual([true, false, false]);
    expect(rows.map((row) => row.metadataColumns?.length)).toEqual([1, 1, 1]);
  });

  test.each([
    [{ retain: 0 }, 'out_of_range rollback.retain'],
    [{ enabled: 'maybe' }, 'wrong_type rollback.enabled'],
    [{ keep: true }, 'unknown_key rollback.keep'],
    [[], 'wrong_type rollback'],
  ])('%j is reported', (rollback, issue) => {
    expect(issuesOf(() => planOf({ rollback }))).toEqual([issue]);
  });
});
