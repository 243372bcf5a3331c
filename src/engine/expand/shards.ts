/** A row that is read in parts runs once for each (`shard`). */
import type { SourceContext } from '../../kit/context.ts';
import type { KeySpan } from '../../kit/source.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { RunError } from '../../lib/errors.ts';
import type { RangePlan, ShardPlan } from '../../blocks/shard/plan.ts';
import type { PlannedSource } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import { firstRecord } from '../first-record.ts';
import type { Expansion } from './expansion.ts';
import { SINGLE_ITERATION, type RangeShard, type Shard } from './iteration.ts';
import { wholeNumber } from '../../lib/whole-number.ts';

export function shardExpansion(shards: readonly Shard[]): Expansion {
  return {
    size: shards.length,
    idle: '',
    *iterations() {
      for (const shard of shards) yield { ...SINGLE_ITERATION, shard };
    },
  };
}

/** Servers of a cluster execute the shards one by one. */
export const LEFT_TO_OTHERS: Expansion = {
  ...shardExpansion([]),
  idle: 'its shards are executed one by one, by any server',
};

interface Asking {
  readonly context: SourceContext;
  readonly tokens: RuntimeTokens;
}

/** Throws `RunError`. */
export async function shardsOf(
  plan: ShardPlan,
  source: PlannedSource,
  asking: Asking,
): Promise<readonly Shard[]> {
  if ('key' in plan) return rangesOf(plan, source, asking);
  const count = Math.min(plan.count, await mostSharesOf(source, asking));
  return Array.from({ length: count }, (_, index) => ({
    id: String(index),
    share: { index, count },
  }));
}

async function mostSharesOf(source: PlannedSource, { context, tokens }: Asking): Promise<number> {
  const { type, definition } = source;
  try {
    return (await definition.mostShares?.(resolvePart(source, tokens), context)) ?? Infinity;
  } catch (error) {
    context.signal.throwIfAborted();
    throw wrapConnectorError('Source', type, error);
  }
}

/** Asks the source between which values its result lies. */
async function rangesOf(
  { count, key }: RangePlan,
  source: PlannedSource,
  { context, tokens }: Asking,
): Promise<readonly Shard[]> {
  const { slices } = source.definition;
  if (slices === undefined)
    throw new Error(`cannot happen: \`${source.type}\` cannot be read in ranges`);
  const parsed = slices.bounds(resolvePart(source, tokens), key);
  const found = await firstRecord({ ...source, deferred: false, parsed }, 'shard', {
    context,
    tokens,
  });
  const {
    low = null,
    high = null,
    strange = null,
  }: Record<string, JsonValue> = isObject(found ?? null)
    ? (found as Record<string, JsonValue>)
    : {};
  if (wholeNumber(strange) !== 0n) {
    throw new RunError(
      'Source',
      'shard_key',
      `\`${key}\` cannot be cut into ranges: not all of its values are integers`,
      {
        hint: 'name a column of integers in `shard.key`, or remove `shard`',
      },
    );
  }
  const [from, to] = [wholeNumber(low), wholeNumber(high)];
  return from === undefined || to === undefined
    ? [{ id: '0', span: { nulls: true } }]
    : cutSpans(from, to, count);
}

/**
 * Equal steps from the lowest value to the highest, both of which belong to the range. The first
 * has no beginning and the last no end, so that values that come meanwhile are not left out; the
 * last has the records without a value.
 */
export function cutSpans(low: bigint, high: bigint, count: number): readonly RangeShard[] {
  const width = high - low + 1n;
  const wanted = BigInt(count) < width ? BigInt(count) : width;
  const step = (width + wanted - 1n) / wanted;
  const shards = Number((width + step - 1n) / step);
  return Array.from({ length: shards }, (_, index) => {
    const from = low + BigInt(index) * step;
    const isLast = index === shards - 1;
    const span: KeySpan = {
      ...(index === 0 ? {} : { from }),
      ...(isLast ? {} : { to: from + step }),
      nulls: isLast,
    };
    return { id: String(index), span };
  });
}
