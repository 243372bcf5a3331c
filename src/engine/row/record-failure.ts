/** What the failure of a record says: which record, and what it holds where that may be shown. */
import { blockOf } from '../../blocks/define-block.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import { RecordError, RunError, type FieldFault } from '../../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { indexAsRead, type RejectedRecord } from '../../kit/rejected-record.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { createMasker } from '../stages/masking.ts';

const LONGEST_VALUE = 80;

/** Where a page stands, and whether its records are still those that were read. */
export interface PagePlace {
  /** Records that the source gave before it. */
  readonly before: number;
  /** What stood between its records and could not be read. */
  readonly rejected: readonly RejectedRecord[];
  /** Its number, from 1. */
  readonly page: number;
  readonly isWhole: boolean;
}

export function withRecord(failure: unknown, row: PlannedRow, place: PagePlace): unknown {
  if (failure instanceof RunError && failure.index !== undefined) {
    const { kind, code, message, hint, index } = failure;
    return new RunError(kind, code, `${message} (${recordAt(index, place)})`, {
      cause: failure,
      ...(hint === undefined ? {} : { hint }),
    });
  }
  if (!(failure instanceof RecordError)) return failure;
  const { fault, index, kind, hint } = failure;
  const found = [
    ...(index === undefined ? [] : [recordAt(index, { ...place, isWhole: true })]),
    ...(fault === undefined ? [] : [`\`${fault.field}\` is ${shown(fault, row)}`]),
  ];
  if (found.length === 0) return failure;
  return new RecordError(kind, `${failure.message}: ${found.join(', ')}`, {
    cause: failure,
    ...(hint === undefined ? {} : { hint }),
  });
}

function recordAt(index: number, { before, rejected, page, isWhole }: PagePlace): string {
  return isWhole
    ? `record ${before + indexAsRead(rejected, index) + 1} of the source`
    : `record ${index + 1} of page ${page}, as the transforms left it`;
}

/** Cut when long. What a masking rule hides, or may hide under a later name, is not shown. */
function shown(fault: FieldFault, row: PlannedRow): string {
  if (isHidden(fault, row)) return '(masked)';
  const text = stringifyJson(fault.value);
  return text.length > LONGEST_VALUE
    ? `${text.slice(0, LONGEST_VALUE)}… (${text.length} characters)`
    : text;
}

function isHidden({ field, value }: FieldFault, row: PlannedRow): boolean {
  const masking = blockOf(row, maskingBlock);
  if (masking === undefined) return false;
  if (row.transforms.some((part) => isRenaming(part))) return true;
  const record: JsonObject = { [field]: value };
  // Every rule counts: a message is read by others than the sink.
  return createMasker(maskingRulesFor(masking), masking.key).record(record, () => {}) !== record;
}

/** Whether a field can have another name when masking sees it. */
function isRenaming({ definition, parsed, judged }: PlannedRow['transforms'][number]): boolean {
  const config = parsed ?? judged;
  if (config === undefined) return true;
  return !['identity', 'select', 'drop', 'add'].includes(definition.columns(config).kind);
}
