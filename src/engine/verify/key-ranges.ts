/** Arithmetic on ranges of an integer key. */
import type { KeySpan } from '../../kit/source.ts';

/** Everything, records without a key among it. */
export const ALL_KEYS: KeySpan = { nulls: true };

/**
 * Cuts what lies between two keys into about equal parts; fewer when there are not so many keys.
 */
export function cutsBetween(low: bigint, high: bigint, parts: number): bigint[] {
  const width = high - low + 1n;
  const most = BigInt(parts) < width ? BigInt(parts) : width;
  const cuts: bigint[] = [];
  for (let part = 1n; part < most; part += 1n) cuts.push(low + (width * part) / most);
  return cuts;
}

/**
 * The parts of a span between its cuts: the outer bounds stay, records without a key are in the
 * last one.
 */
export function partsOf(span: KeySpan, cuts: readonly bigint[]): KeySpan[] {
  return Array.from({ length: cuts.length + 1 }, (_, index) => {
    const from = index === 0 ? span.from : cuts[index - 1];
    const to = index === cuts.length ? span.to : cuts[index];
    return {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      nulls: span.nulls && index === cuts.length,
    };
  });
}

/** How many cuts are at or below a key. */
export function partOf(key: bigint, cuts: readonly bigint[]): number {
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cuts[middle] as bigint) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function holds({ from, to, nulls }: KeySpan, key: bigint | undefined): boolean {
  if (key === undefined) return nulls;
  return (from === undefined || key >= from) && (to === undefined || key < to);
}

export function least(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}

export function greatest(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined || (other !== undefined && other > one) ? other : one;
}
