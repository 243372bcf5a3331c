/**
 * Finds the differences of two sides: by digests of key ranges where that is possible, otherwise in
 * one pass over both.
 */
import type { Compared, Comparison } from './comparison.ts';
import { compareRanges } from './compare-ranges.ts';
import { KeyedDiff, type Found } from './keyed-diff.ts';

export async function compare(comparison: Comparison): Promise<Compared> {
  const { maxDifferences, budget } = comparison;
  const compared = (await compareRanges(comparison)) ?? {
    ...NO_RANGES,
    found: await compareWhole(comparison),
  };
  const { found } = compared;
  return {
    ...compared,
    found: found.slice(0, maxDifferences),
    truncated: budget.exceeded || found.length > maxDifferences,
  };
}

const NO_RANGES = {
  strategy: 'full',
  ranges_compared: 0,
  ranges_differing: 0,
  server_digests: false,
} as const;

async function compareWhole({
  source,
  destination,
  forms,
  budget,
  maxDifferences,
  isDeletion,
  heldBack,
}: Comparison): Promise<Found[]> {
  // One more than asked for shows that there are more.
  const diff = new KeyedDiff({ forms, room: maxDifferences + 1, isDeletion, heldBack });
  try {
    for await (const records of source.read()) diff.addSource(records);
    const sourceWhole = !budget.exceeded;
    for await (const records of destination.read()) {
      diff.addDestination(records);
      if (diff.full) break;
    }
    return diff.finish({ sourceWhole, destinationWhole: !budget.exceeded && !diff.full });
  } finally {
    diff.close();
  }
}
