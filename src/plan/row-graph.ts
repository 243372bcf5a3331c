/** Row ids and the links between rows: what every row needs before it can start. */
import { joinPath } from '../lib/text/text-path.ts';
import type { ParsedRow } from '../document/parse/read-blocks.ts';
import { CONNECTOR_TOKENS } from '../document/tokens/tokens.ts';
import { checkFanOut, readForEach, type ValueList } from './for-each.ts';
import { definitionsWith } from './definitions-with.ts';
import type { IssueList } from './issue-list.ts';
import type { Resolving } from './resolve-part.ts';

/** Names that mean something else inside `${…}`, besides those of blocks that fill in tokens. */
const RESERVED = [
  ...CONNECTOR_TOKENS,
  'env',
  'file',
  'map',
  'matrix',
  'now',
  'param',
  'pipeline',
  'secret',
  'sinks',
  'sources',
  'tenant',
  'trigger',
  'vars',
];

export interface RowLinks {
  readonly id: string;
  readonly parent: string | undefined;
  /** Fan-out rows whose values it runs for. */
  readonly forEach: readonly string[];
  /** Every row it waits for besides its parent: declared, of `for_each`, or named by a token. */
  readonly dependsOn: readonly string[];
}

export interface Naming {
  readonly definitions: Resolving['definitions'];
  readonly ids: readonly string[];
  /** Rows that list values, by id. */
  readonly lists: ReadonlyMap<string, ValueList>;
  /** Lists that the tokens of each row name, in the order of the rows. */
  readonly named: readonly (readonly string[])[];
}

/** The ids of all rows in order; reports ids that are used twice or reserved. */
export function readIds(
  rows: readonly ParsedRow[],
  resolving: Pick<Resolving, 'definitions' | 'issues'>,
): string[] {
  const ids = rows.map((row) => row.spec.id ?? `row-${row.index}`);
  checkIds(rows, ids, resolving);
  return ids;
}

/** The links of every row, in order; links that lead nowhere are reported and left out. */
export function readLinks(
  rows: readonly ParsedRow[],
  { ids, lists, named, definitions }: Naming,
  issues: IssueList,
): RowLinks[] {
  const known = new Set(ids);
  const links = rows.map((row, index) => {
    const id = ids[index] ?? '';
    const exists = (target: string, path: string): boolean => {
      if (target === id) {
        issues.error('dependency_cycle', path, `row \`${id}\` refers to itself`);
        return false;
      }
      if (known.has(target)) return true;
      issues.error(
        'unknown_row',
        path,
        `there is no row \`${target}\``,
        issues.hintFor(target, ids),
      );
      return false;
    };
    checkFanOut(row, id, { definitions, issues });
    const forEach = readForEach(row, id, lists, issues);
    const declared = (row.spec.depends_on ?? []).filter((target, at) =>
      exists(target, joinPath(row.path, 'depends_on', at)),
    );
    const { parent } = row.spec;
    const parentPath = joinPath(row.path, 'parent');
    const hasParent = parent !== undefined && exists(parent, parentPath);
    if (hasParent && lists.has(parent)) {
      const message = `row \`${parent}\` lists values and has no records to run for`;
      issues.error('conflicting_keys', parentPath, message, `use \`for_each: [${parent}]\``);
    }
    return {
      id,
      parent: hasParent && !lists.has(parent) ? parent : undefined,
      forEach,
      dependsOn: [...new Set([...declared, ...forEach, ...(named[index] ?? [])])].filter(
        (target) => lists.get(target)?.isFaulty !== true,
      ),
    };
  });
  checkCycles(rows, links, issues);
  return links;
}

function checkIds(
  rows: readonly ParsedRow[],
  ids: readonly string[],
  { definitions, issues }: Pick<Resolving, 'definitions' | 'issues'>,
): void {
  const reserved = new Set([
    ...RESERVED,
    ...definitionsWith(definitions, 'tokens').map(({ tokens }) => tokens.root),
  ]);
  const first = new Map<string, number>();
  for (const [index, id] of ids.entries()) {
    const row = rows[index];
    if (row === undefined) continue;
    const path = row.spec.id === undefined ? row.path : joinPath(row.path, 'id');
    if (reserved.has(id)) {
      issues.error(
        'reserved_row_id',
        path,
        `\`${id}\` cannot be the id of a row: it has a meaning of its own in \`\${…}\``,
        'choose another id',
      );
    }
    const before = first.get(id);
    if (before === undefined) first.set(id, index);
    else
      issues.error(
        'duplicate_row_id',
        path,
        `the id \`${id}\` is also the one of \`matrix[${before}]\``,
        'give every row an id of its own',
      );
  }
}

/** Cycles that are reported, and rows named of each: a hostile document has more. */
const MAX_CYCLES = 20;
const MAX_CHAIN = 20;

/** Walks the links without recursion; cycles are reported with their chain. */
function checkCycles(
  rows: readonly ParsedRow[],
  links: readonly RowLinks[],
  issues: IssueList,
): void {
  const byId = new Map(links.map((link) => [link.id, link]));
  const done = new Set<string>();
  const onTrail = new Set<string>();
  let cycles = 0;
  for (const start of links) {
    onTrail.add(start.id);
    const trail: { id: string; next: string[] }[] = [{ id: start.id, next: targets(start) }];
    while (trail.length > 0) {
      const at = trail.at(-1);
      const next = at === undefined || done.has(at.id) ? undefined : at.next.pop();
      if (at === undefined) break;
      if (next === undefined) {
        done.add(at.id);
        onTrail.delete(at.id);
        trail.pop();
        continue;
      }
      if (onTrail.has(next)) {
        cycles += 1;
        const chain = trail
          .slice(trail.findIndex((step) => step.id === next))
          .map((step) => step.id);
        if (cycles <= MAX_CYCLES) reportCycle(rows, links, [...chain, next], issues);
        continue;
      }
      const link = byId.get(next);
      if (link === undefined || done.has(next)) continue;
      onTrail.add(next);
      trail.push({ id: next, next: targets(link) });
    }
  }
}

function targets(link: RowLinks): string[] {
  return [...link.dependsOn, ...(link.parent === undefined ? [] : [link.parent])];
}

function reportCycle(
  rows: readonly ParsedRow[],
  links: readonly RowLinks[],
  chain: readonly string[],
  issues: IssueList,
): void {
  const shown =
    chain.length <= MAX_CHAIN ? chain : [...chain.slice(0, MAX_CHAIN), '…', ...chain.slice(-1)];
  const path = rows[links.findIndex((link) => link.id === chain[0])]?.path ?? 'matrix';
  issues.error(
    'dependency_cycle',
    path,
    `rows wait for each other in a circle: ${shown.join(' → ')}`,
    'break the circle at one `parent` or `depends_on`',
  );
}
