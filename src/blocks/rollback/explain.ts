import type { PlannedRow } from '../../plan/plan.ts';
import type { Fact } from '../define-block.ts';
import type { RollbackPlan } from './plan.ts';
import { undoModeOf } from './undo-mode.ts';
import { count } from '../../lib/text/count.ts';

/** Whether runs of a row can be undone, and by what. */
export function explainRollback(rollback: RollbackPlan, { sink }: PlannedRow): readonly Fact[] {
  if (sink.judged === undefined) return [];
  return undoWords(rollback, sink).map((one) => ({ topic: 'undo', ...one }));
}

function undoWords(
  rollback: RollbackPlan,
  sink: PlannedRow['sink'],
): readonly Omit<Fact, 'topic'>[] {
  const { writeMode } = sink.definition.capabilities(sink.judged);
  const mode = undoModeOf(writeMode, rollback);
  if (mode === undefined) {
    const key = writeMode === 'overwrite' ? 'keep_previous' : 'journal';
    return [
      {
        short: `not possible: ${key} is off`,
        words: `Runs cannot be undone: \`rollback.${key}\` is off.`,
      },
    ];
  }
  const last = `the last ${count(rollback.retain, 'run')}`;
  switch (mode) {
    case 'append':
      return [
        {
          short: `${last}, by ${rollback.column}`,
          words: `A run can be undone (${last}): \`${rollback.column}\` says which records it wrote.`,
        },
      ];
    case 'upsert':
      return [
        {
          short: `${last}, by a rollback log`,
          words: `A run can be undone (${last}): earlier versions of the records it changed are kept.`,
        },
      ];
    case 'overwrite':
      return [
        {
          short: 'the last run, by the previous table',
          words: 'The last run can be undone: the table that it replaced is kept.',
        },
      ];
    default:
      return mode satisfies never;
  }
}
