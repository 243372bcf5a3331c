/** Masking of the records from which a fan-out row takes its values. */
import { blockOf } from '../../blocks/define-block.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { FanOutPlan, Plan, PlannedRow } from '../../plan/plan.ts';
import { createMasker } from '../stages/masking.ts';

/**
 * Values reach configs, state keys, logs and records of the rows that run for them, like the fields
 * of a parent record: the rules for the sinks of those rows count.
 */
export function listedMaskOf(
  row: Pick<FanOutPlan, 'id'>,
  plan: Pick<Plan, 'rows' | 'fanOuts'>,
): ((record: JsonValue) => JsonValue) | undefined {
  const users = usersOf(row.id, plan).flatMap((user) => {
    const masking = blockOf(user, maskingBlock);
    return masking === undefined ? [] : [{ masking, sink: user.sink }];
  });
  const [first] = users;
  if (first === undefined) return undefined;
  const counting = new Set(
    users.flatMap(({ masking, sink }) => maskingRulesFor(masking, sink).map(({ label }) => label)),
  );
  const rules = maskingRulesFor(first.masking).filter(({ label }) => counting.has(label));
  if (rules.length === 0) return undefined;
  const masker = createMasker(rules, first.masking.key);
  return (record) => masker.record(record, () => {});
}

/** The rows that see the values, also through other fan-out rows. */
function usersOf(id: string, { rows, fanOuts }: Pick<Plan, 'rows' | 'fanOuts'>): PlannedRow[] {
  const sees = new Set([id]);
  for (let before = 0; before < sees.size;) {
    before = sees.size;
    for (const one of fanOuts)
      if ([...one.forEach, ...one.collected].some((name) => sees.has(name))) sees.add(one.id);
  }
  return rows.filter((row) => [...row.forEach, ...row.collected].some((name) => sees.has(name)));
}
