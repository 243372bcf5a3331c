/** Masks what a queue of dead letters must not show although the sink may. */
import { blockOf } from '../../blocks/define-block.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { maskingRulesBeside } from '../../blocks/masking/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { createMasker } from '../stages/masking.ts';
import type { DeadRecord } from '../stages/stage.ts';
import { hideValues } from '../stages/hide-masked.ts';

export type HideDeadLetter = (dead: DeadRecord) => DeadRecord;

/** `undefined` when every rule has masked the record already. */
export function deadLetterMaskOf(
  row: Pick<PlannedRow, 'blocks' | 'sink'>,
): HideDeadLetter | undefined {
  const masking = blockOf(row, maskingBlock);
  const rules = masking === undefined ? [] : maskingRulesBeside(masking, row.sink);
  if (rules.length === 0) return undefined;
  const masker = createMasker(rules, masking?.key);
  const mask = (record: JsonValue): JsonValue => masker.record(record, () => {});
  return (dead) => {
    const payload = mask(dead.payload);
    if (payload === dead.payload) return dead;
    // The reason may quote a value.
    const { text } = hideValues(mask, [dead.payload]);
    return { ...dead, payload, message: text(dead.message) };
  };
}
