import { RunError } from '../../lib/errors.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { InvocationRequest } from '../row/request.ts';
import { takeLease, type StateLease } from '../row/state-lease.ts';
import { historyKey, type SlaStore } from './sla.ts';

/** Another run of the row has just ended as well, and holds its history for a moment. */
const TRIES = 50;
const WAIT_MS = 100;

/**
 * The store through which an execution that was taken over stores nothing: the history is leased
 * while it is judged, as positions are while a row runs.
 */
export async function fencedHistory(
  store: StateStore,
  request: InvocationRequest,
  stateKey: string,
): Promise<SlaStore> {
  if (request.fence === undefined) return store;
  const lease = await leaseOf(store, request, historyKey(stateKey)).catch(
    async (error: unknown) => {
      await store.close();
      throw error;
    },
  );
  return {
    get: (key) => store.get(key),
    put: (key, value) => lease.put(key, value),
    close: async () => {
      try {
        await lease.release();
      } finally {
        await store.close();
      }
    },
  };
}

async function leaseOf(
  store: StateStore,
  request: InvocationRequest,
  key: string,
): Promise<StateLease> {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await takeLease(request, store, key);
    } catch (error) {
      if (!(error instanceof RunError) || error.code !== 'state_held' || left <= 1) throw error;
      await request.env.clock.sleep(WAIT_MS, request.kill);
    }
  }
}
