/** Which form the pages of a result take. */
import { copyLines } from '../../../fast/fast-paths.ts';
import { collectColumns } from '../../../fast/copy-text/column-pages.ts';
import type { CopyField } from '../../../fast/copy-text/copy-text-writer.ts';
import { collectLines, type Collector } from '../../../fast/copy-text/line-pages.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { Lane } from '../../../kit/page.ts';
import { keepsColumnOrder } from './text-fields.ts';
import { collectRecords, type TextColumn } from './text-pages.ts';

/** `fields` are the columns in the form that the fast paths take. */
export function collectorOf(
  lane: Lane,
  columns: readonly TextColumn[],
  fields: () => readonly CopyField[],
): Collector {
  const isFast = copyLines.isOn() && keepsColumnOrder(columns);
  if (isFast && lane.form === 'columns') return collectColumns(fields());
  if (isFast && lane.form === 'bytes' && lane.encoding === JSON_LINES.name)
    return collectLines(fields());
  return collectRecords(columns);
}
