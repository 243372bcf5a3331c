/** What is told of the records of a page that are put aside: their place, type and origin. */
import type { JsonValue } from '../../lib/text/json.ts';
import type { Page, RecordOrigin } from '../../kit/page.ts';
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
    const origin = place === undefined ? undefined : read.madeOf?.(place);
    const asRead = place === undefined ? undefined : worked.recordAsRead?.(place);
    const number = read.madeOf === undefined ? numberIn(read, before, place) : undefined;
    return {
      ...one,
      ...asGiven(one, { asRead, read, worked }),
      ...(number === undefined ? {} : { number }),
      ...(asRead === undefined ? {} : { original: asRead }),
      ...describeOrigin(origin),
    };
  });
}

/** Of a page that has come through other nodes of a graph. */
export function describeOrigin(
  origin: RecordOrigin | undefined,
): Pick<DeadRecord, 'number' | 'original' | 'isOriginalHidden'> {
  if (origin === undefined) return {};
  const { number, record } = origin;
  return record === undefined ? { number } : { number, original: record, isOriginalHidden: true };
}

/** What a replay gives to the transforms again, or to the stages behind them. */
function asGiven(
  { reason, payload, isBehindPages }: DeadRecord,
  {
    asRead,
    read,
    worked,
  }: Pick<DeadRecordPlace, 'read' | 'worked'> & { readonly asRead: JsonValue | undefined },
): Pick<DeadRecord, 'payload' | 'schema'> {
  if (reason !== 'transform') return { payload, schema: worked.page.schema };
  // Between two transforms nothing is known of the fields.
  if (isBehindPages === true) return { payload, schema: undefined };
  return { payload: asRead ?? payload, schema: read.schema };
}

function numberIn(
  { rejected }: Page,
  before: number,
  place: number | undefined,
): number | undefined {
  return place === undefined ? undefined : before + indexAsRead(rejected, place) + 1;
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
