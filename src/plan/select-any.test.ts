/**
 * Whatever is selected from whatever matrix agrees with the formula of the specification, put down
 * set by set (spec 2.8, rule 5).
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ROW_STATUSES, type RowStatus } from '../document/structure/source.ts';
import { INCLUDE_PARENTS, type IncludeParents } from '../blocks/selection/schema.ts';
import { IssueList } from './issue-list.ts';
import { selectRows, type SelectionFlags } from './select.ts';

interface Row {
  readonly id: string;
  readonly status: RowStatus;
  readonly tags: readonly string[];
  readonly parent: { readonly row: string } | undefined;
  readonly dependsOn: readonly string[];
}

interface Asked {
  readonly rows: readonly Row[];
  readonly flags: Required<Omit<SelectionFlags, 'includeParents'>>;
  readonly policy: IncludeParents;
}

const IDS = ['a', 'ab', 'abc', 'b', 'ba'];
const TAGS = ['x', 'y'];

/** Rows need only rows before them, so that there are no circles. */
const matrix = fc.tuple(
  ...IDS.map((id, index) =>
    fc.record({
      id: fc.constant(id),
      status: fc.constantFrom(...ROW_STATUSES, 'active' as const),
      tags: fc.subarray(TAGS),
      parent: fc
        .option(fc.constantFrom(...IDS.slice(0, index), ''), { nil: '' })
        .map((row) => (row === '' ? undefined : { row })),
      dependsOn: fc.subarray(IDS.slice(0, index), { maxLength: Math.min(index, 1) }),
    }),
  ),
);

const some = (from: readonly string[]) =>
  fc.oneof(fc.constant([]), fc.array(fc.constantFrom(...from), { maxLength: 2 }));
const asked: fc.Arbitrary<Asked> = fc.record({
  rows: matrix,
  flags: fc.record({
    select: some(IDS),
    only: some(['a*', '*b', 'b', '*', 'a*c', '**a**']),
    skip: some(['a', 'ba', 'b*', '*b*', '*']),
    status: some(ROW_STATUSES),
    tag: some(TAGS),
  }),
  policy: fc.constantFrom(...INCLUDE_PARENTS),
});

const matches = (pattern: string, id: string): boolean =>
  new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(id);
const needed = ({ parent, dependsOn }: Row): string[] => [
  ...(parent === undefined ? [] : [parent.row]),
  ...dependsOn,
];

/** The ids that run, or the code of the refusal. */
function model({ rows, flags, policy }: Asked): string[] | string {
  const { select, only, skip, status, tag } = flags;
  const byId = (id: string): Row => rows.find((row) => row.id === id) as Row;
  const known = [...select, ...only, ...skip].every((token) =>
    rows.some(({ id }) => matches(token, id)),
  );
  if (!known) return 'unknown_row';
  if (!tag.every((one) => rows.some(({ tags }) => tags.includes(one)))) return 'unknown_tag';

  const eligible = rows.filter((row) => ['mandatory', 'active', ...status].includes(row.status));
  const tagged = eligible.filter(({ tags }) => tags.some((one) => tag.includes(one)));
  const named = rows.filter(
    ({ id }) => select.includes(id) || only.some((pattern) => matches(pattern, id)),
  );
  const isNarrowed = select.length + only.length + tag.length > 0;
  let result = new Set((isNarrowed ? [...tagged, ...named] : eligible).map(({ id }) => id));

  for (let grown = policy !== 'off'; grown;) {
    const ancestors = [...result].flatMap((id) => needed(byId(id))).filter((id) => !result.has(id));
    if (policy === 'eligible' && ancestors.some((id) => !eligible.includes(byId(id))))
      return 'missing_ancestor';
    grown = ancestors.length > 0;
    result = new Set([...result, ...ancestors]);
  }

  const isSkipped = (row: Row): boolean =>
    skip.some(
      (token) => token === row.id || (matches(token, row.id) && row.status !== 'mandatory'),
    );
  const run = rows.filter((row) => result.has(row.id) && !isSkipped(row));
  if (run.some((row) => needed(row).some((id) => !run.includes(byId(id)))))
    return 'missing_ancestor';
  return run.length === 0 ? 'empty_selection' : run.map(({ id }) => id);
}

test('what runs, and what is refused', () => {
  fc.assert(
    fc.property(asked, fc.boolean(), ({ rows, flags, policy }, fromFlag) => {
      const issues = new IssueList();
      const { run } = selectRows(rows, {
        flags: fromFlag ? { ...flags, includeParents: policy } : flags,
        policy: fromFlag ? 'all' : policy,
        hasMatrix: true,
        issues,
      });
      const expected = model({ rows, flags, policy });
      if (typeof expected === 'string')
        expect(issues.errors.map(({ code }) => code)).toContain(expected);
      else expect({ run: [...run], errors: issues.errors }).toEqual({ run: expected, errors: [] });
    }),
    { numRuns: 2000 },
  );
});
