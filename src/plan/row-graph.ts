/** Row ids and the links between rows: what every row needs before it can start. */
import { joinPath } from '../lib/text-path.ts';
import type { PlacedRow } from '../document/read-blocks.ts';
import type { IssueList } from './issue-list.ts';

/** Names that mean something else inside `${…}`. */
const RESERVED = [
  'backfill',
  'bookmark',
  'env',
  'file',
  'job_id',
  'map',
  'matrix',
  'now',
  'param',
  'partition',
  'pipeline',
  'secret',
  'sinks',
  'sources',
  'tenant',
  'trigger',
  'vars',
  'window',
];

export interface RowLinks {
  readonly id: string;
  readonly parent: string | undefined;
  readonly dependsOn: readonly string[];
}

/** The links of every row, in order; links that lead nowhere are reported and left out. */
export function readLinks(rows: readonly PlacedRow[], issues: IssueList): RowLinks[] {
  const ids = rows.map((row) => row.spec.id ?? `row-${row.index}`);
  checkIds(rows, ids, issues);
  const known = new Set(ids);
  const links = rows.map((row, index) => {
    const id = ids[index] ?? '';
    const exists = (target: string, path: string): boolean => {
      if (target === id) {
        issues.error('dependency_cycle', path, `row \`${id}\` refers to itself`);
        return false;
      }
      if (known.has(target)) return true;
      issues.error('unknown_row', path, `there is no row \`${target}\``, issues.hintFor(target, ids));
      return false;
    };
    const { parent } = row.spec;
    const dependsOn = [...new Set(row.spec.depends_on ?? [])];
    return {
      id,
      parent: parent !== undefined && exists(parent, joinPath(row.path, 'parent')) ? parent : undefined,
      dependsOn: dependsOn.filter((target, at) => exists(target, joinPath(row.path, 'depends_on', at))),
    };
  });
  checkCycles(rows, links, issues);
  return links;
}

function checkIds(rows: readonly PlacedRow[], ids: readonly string[], issues: IssueList): void {
  const first = new Map<string, number>();
  for (const [index, id] of ids.entries()) {
    const row = rows[index];
    if (row === undefined) continue;
    const path = row.spec.id === undefined ? row.path : joinPath(row.path, 'id');
    if (RESERVED.includes(id)) {
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

/** Walks the links without recursion; every cycle is told once, with its chain. */
function checkCycles(rows: readonly PlacedRow[], links: readonly RowLinks[], issues: IssueList): void {
  const byId = new Map(links.map((link) => [link.id, link]));
  const done = new Set<string>();
  for (const start of links) {
    const trail: { id: string; next: string[] }[] = [{ id: start.id, next: targets(start) }];
    while (trail.length > 0) {
      const at = trail.at(-1);
      const next = at === undefined || done.has(at.id) ? undefined : at.next.pop();
      if (at === undefined) break;
      if (next === undefined) {
        done.add(at.id);
        trail.pop();
        continue;
      }
      const loop = trail.findIndex((step) => step.id === next);
      if (loop !== -1) {
        reportCycle(rows, links, [...trail.slice(loop).map((step) => step.id), next], issues);
        continue;
      }
      const link = byId.get(next);
      if (link !== undefined && !done.has(next)) trail.push({ id: next, next: targets(link) });
    }
  }
}

function targets(link: RowLinks): string[] {
  return [...link.dependsOn, ...(link.parent === undefined ? [] : [link.parent])];
}

function reportCycle(rows: readonly PlacedRow[], links: readonly RowLinks[], chain: readonly string[], issues: IssueList): void {
  const path = rows[links.findIndex((link) => link.id === chain[0])]?.path ?? 'matrix';
  issues.error(
    'dependency_cycle',
    path,
    `rows wait for each other in a circle: ${chain.join(' → ')}`,
    'break the circle at one `parent` or `depends_on`',
  );
}
