/**
 * Compares what a row wrote with what an authority says there is. The data is written by then and
 * stays.
 */
import { RunError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { ReconcilePlan } from '../../blocks/reconcile/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { firstRecord } from '../first-record.ts';

/**
 * Throws `RunError` of kind `Source` when too little was written, or when the authority gives no
 * count.
 */
export async function reconcile(
  plan: ReconcilePlan,
  written: number,
  context: SourceContext,
  tokens: RuntimeTokens,
): Promise<void> {
  const expected = await readCount(plan, context, tokens);
  const least = expected * (1 - plan.tolerancePct / 100);
  context.env.log.info('reconciled', { written, expected, tolerance_pct: plan.tolerancePct });
  if (written >= least) return;
  const allowed = plan.tolerancePct === 0 ? '' : ` (${plan.tolerancePct} % fewer are tolerated)`;
  throw new RunError(
    'Source',
    'reconcile_shortfall',
    `${written} records were written, but \`${plan.source.type}\` counts ${expected}${allowed}`,
    {
      hint: 'the records are written and the position is stored; look for what was filtered, dead-lettered or never read',
    },
  );
}

async function readCount(
  { source: part, countField }: ReconcilePlan,
  context: SourceContext,
  tokens: RuntimeTokens,
): Promise<number> {
  const record = await firstRecord(part, 'reconcile', { context, tokens });
  const place = `the count of \`${part.type}\``;
  if (record === undefined) throw noCount(`${place} gave no record`);
  const fields = isObject(record) ? record : { count: record };
  if (countField === undefined) {
    const first = Object.values(fields)
      .map(numberOf)
      .find((one) => one !== undefined);
    if (first === undefined) throw noCount(`${place} has no field with a number`);
    return first;
  }
  const found = Object.hasOwn(fields, countField) ? fields[countField] : undefined;
  if (found === undefined) throw noCount(`${place} has no field \`${countField}\``);
  const count = numberOf(found);
  if (count === undefined) throw noCount(`\`${countField}\` of ${place} is not a number`);
  return count;
}

/**
 * Numbers, and texts of digits as databases give exact ones; less than nothing counts as nothing.
 */
function numberOf(value: JsonValue): number | undefined {
  if (typeof value === 'bigint') return Math.max(0, Number(value));
  if (typeof value === 'number') return Math.max(0, value);
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined;
}

function noCount(message: string): RunError {
  return new RunError('Source', 'reconcile_no_count', message, {
    hint: 'let `reconcile.count` give one record with the count',
  });
}
