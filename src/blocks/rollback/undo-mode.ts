import type { WriteMode } from '../../kit/sink.ts';
import type { RollbackMode } from '../../kit/rollback.ts';
import type { RollbackPlan } from './plan.ts';

/**
 * How an invocation that writes in this mode is undone; `undefined` when the document does not have
 * kept what that takes.
 */
export function undoModeOf(
  mode: WriteMode,
  { journal, keepPrevious }: Pick<RollbackPlan, 'journal' | 'keepPrevious'>,
): RollbackMode | undefined {
  switch (mode) {
    case 'append':
      return 'append';
    case 'upsert':
    case 'delete':
      return journal ? 'upsert' : undefined;
    case 'overwrite':
      return keepPrevious ? 'overwrite' : undefined;
    default:
      return mode satisfies never;
  }
}
