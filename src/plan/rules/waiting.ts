/** Rows that run in parts, each an invocation of its own. */
import { joinPath } from '../../lib/text/text-path.ts';
import type { IssueList } from '../issue-list.ts';
import type { ResolvedRow } from '../resolved-row.ts';

/**
 * Chunks and shards are invocations with positions of their own: nobody can wait for them, or run
 * for their records, as for one row.
 */
export function checkWaiting(
  waiting: readonly Pick<ResolvedRow, 'path' | 'parent' | 'dependsOn'>[],
  rows: readonly ResolvedRow[],
  issues: IssueList,
): void {
  const cutRows = new Set(rows.filter(({ cuts }) => cuts.length > 0).map(({ id }) => id));
  if (cutRows.size === 0) return;
  for (const { path, parent, dependsOn } of waiting) {
    for (const [key, target] of [
      ['parent', parent?.row] as const,
      ...dependsOn.map((id) => ['depends_on', id] as const),
    ]) {
      if (target === undefined || !cutRows.has(target)) continue;
      const message = `row \`${target}\` is cut into parts, so it cannot be the ${key === 'parent' ? 'parent' : 'dependency'} of another row`;
      issues.error(
        'partition_referenced',
        joinPath(path, key),
        message,
        `set \`partition: null\` in row \`${target}\`, remove \`shard\` from its source, or remove the reference`,
      );
    }
  }
}
