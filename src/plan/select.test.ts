import { describe, expect, test } from 'vitest';
import { IssueList } from './issue-list.ts';
import { selectRows, type SelectionFlags } from './select.ts';

const row = (
  id: string,
  status: 'mandatory' | 'active' | 'available' | 'draft' | 'archived',
  more: { tags?: string[]; parent?: string; after?: string[] } = {},
) => ({
  id,
  status,
  tags: more.tags ?? [],
  parent: more.parent === undefined ? undefined : { row: more.parent },
  dependsOn: more.after ?? [],
});

const ROWS = [
  row('base', 'mandatory'),
  row('orders', 'active', { tags: ['sales'] }),
  row('lines', 'active', { tags: ['sales'], parent: 'orders' }),
  row('trial', 'draft', { tags: ['sales'] }),
  row('old', 'archived', { after: ['trial'] }),
  row('spare', 'available'),
];

function select(flags: SelectionFlags, options: { hasMatrix?: boolean; rows?: typeof ROWS } = {}) {
  const issues = new IssueList();
  const { run, active } = selectRows(options.rows ?? ROWS, {
    flags,
    policy: undefined,
    hasMatrix: options.hasMatrix ?? true,
    issues,
  });
  return { run: [...run], active, errors: issues.errors, warnings: issues.warnings };
}
const run = (flags: SelectionFlags) => {
  const { run: ids, errors } = select(flags);
  expect(errors).toEqual([]);
  return ids;
};
const codes = (flags: SelectionFlags) => select(flags).errors.map((issue) => issue.code);

describe('which rows run (spec 2.8)', () => {
  test('mandatory and active ones by default', () => {
    expect(run({})).toEqual(['base', 'orders', 'lines']);
    expect(select({}).active).toBe(true);
    expect(select({}, { rows: [row('a', 'active')] }).active).toBe(false);
  });

  test('tiers are added', () => {
    expect(run({ status: ['available', 'draft'] })).toEqual([
      'base',
      'orders',
      'lines',
      'trial',
      'spare',
    ]);
  });

  test('tags narrow what is eligible and revive nothing', () => {
    expect(run({ tag: ['sales'] })).toEqual(['orders', 'lines']);
    expect(run({ tag: ['sales'], status: ['draft'] })).toEqual(['orders', 'lines', 'trial']);
  });

  test('named rows run whatever their status', () => {
    expect(run({ select: ['trial'] })).toEqual(['trial']);
    expect(run({ only: ['tr*l', 's*'] })).toEqual(['trial', 'spare']);
    expect(run({ select: ['spare'], tag: ['sales'] })).toEqual(['orders', 'lines', 'spare']);
  });

  test('skipping comes last; a pattern spares mandatory rows, an id does not', () => {
    expect(run({ skip: ['b*', 'l*'] })).toEqual(['base', 'orders']);
    expect(run({ skip: ['base', 'lines'] })).toEqual(['orders']);
  });
});

describe('rows that others need', () => {
  test('off: the pairs are reported', () => {
    const { errors } = select({ select: ['lines', 'old'] });
    expect(errors.map((issue) => issue.message)).toEqual([
      'rows that run need rows that do not: lines → orders (parent); old → trial (depends_on, parked)',
    ]);
  });

  test('eligible: they are added, unless their status forbids', () => {
    expect(run({ select: ['lines'], includeParents: 'eligible' })).toEqual(['orders', 'lines']);
    expect(codes({ select: ['old'], includeParents: 'eligible' })).toEqual(['missing_ancestor']);
  });

  test('all: they are added, with a warning where their status forbids', () => {
    const { run: ids, warnings, errors } = select({ select: ['old'], includeParents: 'all' });
    expect([ids, warnings.map((warning) => warning.code), errors]).toEqual([
      ['trial', 'old'],
      ['parked_ancestor'],
      [],
    ]);
  });

  test('skipping one of them is the same error', () => {
    expect(codes({ skip: ['orders'], includeParents: 'all' })).toEqual(['missing_ancestor']);
    expect(codes({ skip: ['orders'], includeParents: 'eligible' })).toEqual(['missing_ancestor']);
  });
});

describe('what is refused', () => {
  test.each<[string, SelectionFlags]>([
    ['unknown_row', { select: ['order'] }],
    ['unknown_row', { only: ['x*'] }],
    ['unknown_row', { skip: ['x'] }],
    ['unknown_tag', { tag: ['sale'] }],
    ['unknown_status', { status: ['drafts'] }],
    ['unknown_policy', { includeParents: 'some' }],
    ['empty_selection', { tag: ['sales'], skip: ['orders', 'lines'] }],
  ])('%s', (code, flags) => {
    expect(codes(flags)).toEqual([code]);
  });

  test('near names are suggested', () => {
    expect(select({ select: ['order'] }).errors[0]?.hint).toBe('did you mean `orders`?');
  });

  test('naming rows where there is no matrix; statuses are fine', () => {
    const rows = [row('row-0', 'active')];
    expect(
      select({ select: ['row-0'], tag: ['x'] }, { hasMatrix: false, rows }).errors.map(
        (issue) => issue.message,
      ),
    ).toEqual(['--select, --tag cannot be used: the document has no `matrix`']);
    expect(select({ status: ['draft'] }, { hasMatrix: false, rows }).errors).toEqual([]);
  });
});
