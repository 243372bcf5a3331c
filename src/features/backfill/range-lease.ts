/**
 * One backfill of a range at a time: two would run the same units, and each would write over what
 * the other remembers.
 */
import { takeLease, type Leasing, type StateLease } from '../../engine/row/state-lease.ts';
import type { StateStore } from '../../kit/state-store.ts';

/** `undefined` where no other process can know of the backfill. */
export async function leaseRange(
  store: StateStore | undefined,
  key: string,
  holder: Omit<Leasing, 'conflict'>,
): Promise<StateLease | undefined> {
  if (store === undefined) return undefined;
  const conflict = (other: string): string =>
    `this range is being backfilled by ${other}: two at once would run the same units`;
  return takeLease({ ...holder, conflict }, store, key);
}
