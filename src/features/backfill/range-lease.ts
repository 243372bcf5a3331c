/**
 * One backfill of a range at a time: two would run the same units, and each would write over what
 * the other remembers.
 */
import { takeLease, type Leasing, type StateLease } from '../../engine/row/state-lease.ts';
import type { StateStore, UnsharedStore } from '../../kit/state-store.ts';

/** `undefined` where no other process can know of the backfill. */
export async function leaseRange(
  store: StateStore | undefined,
  key: string,
  holder: Omit<Leasing, 'conflict'>,
): Promise<StateLease | undefined> {
  if (store === undefined) return undefined;
  const conflict = (other: string): string =>
    `this range is being backfilled by ${other}: two at once would run the same units`;
  const afterLoss = 'the other backfill goes on with the units that are not done';
  return takeLease({ ...holder, conflict, afterLoss, isStrict: true }, store, key);
}

/**
 * The store as whoever has the range may use it: a process that was frozen while another one went on with
 * the backfill changes nothing of what that one remembers.
 */
export function storeUnder(lease: StateLease | undefined, store: UnsharedStore): UnsharedStore {
  if (lease === undefined) return store;
  return {
    get: (key) => store.get(key),
    put: (key, value) => lease.put(key, value),
    delete: (key) => lease.delete(key),
    close: () => store.close(),
  };
}
