import type { PlannedRow } from '../../plan/plan.ts';

/** Why nothing of a row can be checked before it runs. */
export function unknownBefore({
  role,
  partition,
}: Pick<PlannedRow, 'role' | 'partition'>): string | undefined {
  if (role === 'child') return 'a child row depends on the records of its parent';
  if (role === 'product') return 'a row with `for_each` depends on the values of other rows';
  if (partition === undefined || partition.chunks?.at(0) !== undefined) return undefined;
  return partition.chunks === undefined
    ? 'the chunks of the row are discovered at run time'
    : 'the range of the row is empty';
}
