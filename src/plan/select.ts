/** Which rows of a matrix run (spec 2.8, rule 5). */
import { ROW_STATUSES, type RowStatus } from '../document/structure/source.ts';
import { INCLUDE_PARENTS, type IncludeParents } from '../blocks/selection/schema.ts';
import type { IssueList } from './issue-list.ts';

export interface SelectionFlags {
  /** Exact ids, whatever their status. */
  readonly select?: readonly string[];
  /** Ids with `*`, whatever their status. */
  readonly only?: readonly string[];
  /** Ids or ids with `*`; taken out last. */
  readonly skip?: readonly string[];
  /** Tiers that are eligible besides `mandatory` and `active`. */
  readonly status?: readonly string[];
  readonly tag?: readonly string[];
  readonly includeParents?: string | undefined;
}

interface Selectable {
  readonly id: string;
  readonly status: RowStatus;
  readonly tags: readonly string[];
  readonly parent: { readonly row: string } | undefined;
  readonly dependsOn: readonly string[];
}

export interface SelectionOptions {
  readonly flags: SelectionFlags;
  /** The document's `selection.include_parents`. */
  readonly policy: IncludeParents | undefined;
  readonly hasMatrix: boolean;
  readonly issues: IssueList;
}

export interface Selection {
  readonly run: ReadonlySet<string>;
  /** Whether anything but the plain default decided. */
  readonly active: boolean;
}

export function selectRows(rows: readonly Selectable[], options: SelectionOptions): Selection {
  const { flags, issues } = options;
  const errorsBefore = issues.errors.length;
  const tiers = new Set<string>(['mandatory', 'active', ...(flags.status ?? [])]);
  const policy = policyOf(options);
  checkFlags(rows, options);
  if (issues.errors.length > errorsBefore)
    return { run: new Set(rows.map((row) => row.id)), active: true };
  const eligible = new Set(rows.filter((row) => tiers.has(row.status)).map((row) => row.id));
  const chosen = withAncestors(rows, {
    chosen: narrow(rows, eligible, flags),
    eligible,
    policy,
    issues,
  });
  const run = withoutSkipped(rows, chosen, flags.skip ?? []);
  if (policy !== 'eligible' || run.size < chosen.size)
    reportMissingAncestors(rows, { run, eligible, issues });
  if (run.size === 0 && rows.length > 0) {
    const all = rows.map((row) => `${row.id} (${row.status})`).join(', ');
    issues.error(
      'empty_selection',
      'matrix',
      `no row is left to run; there are: ${all}`,
      'add `--status` or `--select`',
    );
  }
  const given = [flags.select, flags.only, flags.skip, flags.status, flags.tag].some(
    (tokens) => tokens !== undefined && tokens.length > 0,
  );
  return { run, active: given || run.size < rows.length };
}

function policyOf({ flags, policy, issues }: SelectionOptions): IncludeParents {
  const given = flags.includeParents;
  if (given === undefined) return policy ?? 'off';
  const known = INCLUDE_PARENTS.find((name) => name === given);
  if (known === undefined)
    issues.error(
      'unknown_policy',
      'selection',
      `\`${given}\` is not a policy for parents`,
      `there are: ${INCLUDE_PARENTS.join(', ')}`,
    );
  return known ?? 'off';
}

/** Every token is checked against all rows before anything is narrowed. */
function checkFlags(
  rows: readonly Selectable[],
  { flags, hasMatrix, issues }: SelectionOptions,
): void {
  const named = {
    '--select': flags.select,
    '--only': flags.only,
    '--skip': flags.skip,
    '--tag': flags.tag,
  };
  const used = Object.entries(named).flatMap(([flag, tokens]) =>
    tokens !== undefined && tokens.length > 0 ? [flag] : [],
  );
  if (!hasMatrix && used.length > 0) {
    issues.error(
      'selection_without_matrix',
      '',
      `${used.join(', ')} cannot be used: the document has no \`matrix\``,
    );
    return;
  }
  const ids = rows.map((row) => row.id);
  const unknown = (flag: string, token: string, matches: (id: string) => boolean): void => {
    if (ids.some(matches)) return;
    issues.error(
      'unknown_row',
      'matrix',
      `\`${flag} ${token}\` matches no row`,
      issues.hintFor(token, ids),
    );
  };
  for (const token of flags.select ?? []) unknown('--select', token, (id) => id === token);
  for (const token of flags.only ?? []) unknown('--only', token, globOf(token));
  for (const token of flags.skip ?? []) unknown('--skip', token, globOf(token));
  for (const tier of flags.status ?? []) {
    if ((ROW_STATUSES as readonly string[]).includes(tier)) continue;
    issues.error(
      'unknown_status',
      'matrix',
      `\`${tier}\` is not a status of a row`,
      issues.hintFor(tier, ROW_STATUSES),
    );
  }
  const tags = [...new Set(rows.flatMap((row) => row.tags))];
  for (const tag of flags.tag ?? []) {
    if (!tags.includes(tag))
      issues.error(
        'unknown_tag',
        'matrix',
        `no row has the tag \`${tag}\``,
        issues.hintFor(tag, tags),
      );
  }
}

/** (eligible ∩ tags) ∪ named; all eligible ones when neither is asked for. */
function narrow(
  rows: readonly Selectable[],
  eligible: ReadonlySet<string>,
  flags: SelectionFlags,
): Set<string> {
  const { select = [], only = [], tag: tags = [] } = flags;
  if (select.length === 0 && only.length === 0 && tags.length === 0) return new Set(eligible);
  const globs = only.map(globOf);
  const isNamed = (row: Selectable): boolean =>
    select.includes(row.id) || globs.some((matches) => matches(row.id));
  const isTagged = (row: Selectable): boolean =>
    eligible.has(row.id) && row.tags.some((tag) => tags.includes(tag));
  return new Set(rows.filter((row) => isNamed(row) || isTagged(row)).map((row) => row.id));
}

interface Closure {
  readonly chosen: ReadonlySet<string>;
  readonly eligible: ReadonlySet<string>;
  readonly policy: IncludeParents;
  readonly issues: IssueList;
}

function withAncestors(
  rows: readonly Selectable[],
  { chosen, eligible, policy, issues }: Closure,
): Set<string> {
  const run = new Set(chosen);
  if (policy === 'off') return run;
  const byId = new Map(rows.map((row) => [row.id, row]));
  const missing: string[] = [];
  // A set grows while it is walked: ancestors of ancestors are met too.
  for (const id of run) {
    for (const { ancestor, link } of ancestorsOf(byId.get(id))) {
      if (run.has(ancestor)) continue;
      const status = byId.get(ancestor)?.status;
      if (policy === 'eligible' && !eligible.has(ancestor))
        missing.push(`${id} → ${ancestor} (${link}, parked as ${status})`);
      else {
        if (!eligible.has(ancestor))
          issues.warn(
            'parked_ancestor',
            'matrix',
            `row \`${ancestor}\` is ${status}, and runs because \`${id}\` needs it`,
          );
        run.add(ancestor);
      }
    }
  }
  reportMissing(missing, issues);
  return run;
}

function withoutSkipped(
  rows: readonly Selectable[],
  chosen: ReadonlySet<string>,
  skip: readonly string[],
): Set<string> {
  const globs = skip.map(globOf);
  const isSkipped = (row: Selectable): boolean =>
    skip.includes(row.id) ||
    (row.status !== 'mandatory' && globs.some((matches) => matches(row.id)));
  return new Set(rows.filter((row) => chosen.has(row.id) && !isSkipped(row)).map((row) => row.id));
}

function reportMissingAncestors(
  rows: readonly Selectable[],
  {
    run,
    eligible,
    issues,
  }: { run: ReadonlySet<string>; eligible: ReadonlySet<string>; issues: IssueList },
): void {
  const missing = rows
    .filter((row) => run.has(row.id))
    .flatMap((row) =>
      ancestorsOf(row)
        .filter(({ ancestor }) => !run.has(ancestor))
        .map(
          ({ ancestor, link }) =>
            `${row.id} → ${ancestor} (${link}${eligible.has(ancestor) ? '' : ', parked'})`,
        ),
    );
  reportMissing(missing, issues);
}

function reportMissing(pairs: readonly string[], issues: IssueList): void {
  if (pairs.length === 0) return;
  const message = `rows that run need rows that do not: ${[...pairs].sort().join('; ')}`;
  issues.error(
    'missing_ancestor',
    'matrix',
    message,
    'select them too, or use `--include-parents eligible` or `all`',
  );
}

function ancestorsOf(
  row: Selectable | undefined,
): { ancestor: string; link: 'parent' | 'depends_on' }[] {
  if (row === undefined) return [];
  const parent =
    row.parent === undefined ? [] : [{ ancestor: row.parent.row, link: 'parent' as const }];
  return [
    ...parent,
    ...row.dependsOn.map((ancestor) => ({ ancestor, link: 'depends_on' as const })),
  ];
}

/** `*` stands for any characters, none included. Linear: pieces are searched from left to right. */
function globOf(pattern: string): (id: string) => boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return (id) => id === pattern;
  return (id) => {
    if (!id.startsWith(head) || !id.endsWith(tail) || id.length < head.length + tail.length)
      return false;
    let at = head.length;
    for (const piece of rest) {
      const found = id.indexOf(piece, at);
      if (found === -1) return false;
      at = found + piece.length;
    }
    return at <= id.length - tail.length;
  };
}
