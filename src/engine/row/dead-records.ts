/** What is told of the records of a page that are put aside: their place, type and origin. */
import type { Page } from '../../kit/page.ts';
import { indexAsRead } from '../../kit/rejected-record.ts';
import { originAt } from '../stages/origins.ts';
import type { WorkedPage } from '../stages/page-work.ts';
import type { DeadRecord } from '../stages/stage.ts';

export interface DeadRecordPlace {
  readonly read: Page;
  readonly worked: WorkedPage;
  /** Records that the source gave before the page. */
  readonly before: number;
}

export function describeDeadRecords(
  dead: readonly DeadRecord[],
  { read, worked, before }: DeadRecordPlace,
): readonly DeadRecord[] {
  const isOfStages = new Set(worked.dead);
  return dead.map((one) => {
    const place = placeOf(one, worked, isOfStages.has(one));
    const original = place === undefined ? undefined : worked.recordAsRead?.(place);
    // Records that a transform puts aside are as they were read.
    const schema = one.reason === 'transform' ? read.schema : worked.page.schema;
    return {
      ...one,
      schema,
      ...(place === undefined ? {} : { number: before + indexAsRead(read.rejected, place) + 1 }),
      ...(original === undefined ? {} : { original }),
    };
  });
}

/** The place among the records of the page as it was read, where it is known. */
function placeOf(
  { reason, index, isBehindPages }: DeadRecord,
  { origins }: WorkedPage,
  isOfStages: boolean,
): number | undefined {
  if (reason === 'transform') return isBehindPages === true ? undefined : index;
  if (origins === undefined) return undefined;
  const staged = isOfStages ? index : originAt(origins.stages, index);
  return staged === undefined ? undefined : originAt(origins.transforms, staged);
}
