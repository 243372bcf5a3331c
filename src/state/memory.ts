import { z } from 'zod';
import { parseJson, stringifyJson } from '../lib/text/json.ts';
import {
  defineStateStore,
  isBelow,
  NO_LEASE,
  sortedEntries,
  type Lease,
} from '../kit/state-store.ts';

/**
 * Bookmarks of this process, stored as JSON text so that callers share no objects with the store.
 */
const values = new Map<string, { readonly text: string; readonly at: Date }>();
const leases = new Map<string, Omit<Lease, 'remainingMs'> & { readonly endsAt: number }>();

const config = z.lazy(() => z.strictObject({}));

export const memoryState = defineStateStore<z.output<typeof config>>({
  type: 'memory',
  description: 'Bookmarks that live as long as the process; for trying things out.',
  config,
  durable: false,
  examples: [{}],
  open: async () => ({
    async get(key) {
      const found = values.get(key);
      return found === undefined ? undefined : parseJson(found.text);
    },
    async put(key, value) {
      values.set(key, { text: stringifyJson(value), at: new Date() });
    },
    async putHeld(key, value, { lease, token }) {
      if (leases.get(lease)?.token !== token) return false;
      values.set(key, { text: stringifyJson(value), at: new Date() });
      return true;
    },
    async delete(key) {
      values.delete(key);
    },
    async deleteHeld(key, { lease, token }) {
      if (leases.get(lease)?.token !== token) return false;
      values.delete(key);
      return true;
    },
    async entries(key) {
      const found = [...values].filter(([stored]) => isBelow(stored, key));
      return sortedEntries(found.map(([stored, { at }]) => ({ key: stored, at })));
    },
    async lease(key, { token, ttlMs, holder, instead, renews }) {
      const now = performance.now();
      const held = leases.get(key);
      if (renews && held?.token !== token)
        return held === undefined ? NO_LEASE : { ...held, remainingMs: held.endsAt - now };
      if (held !== undefined && held.endsAt > now && ![token, instead].includes(held.token))
        return { token: held.token, holder: held.holder, remainingMs: held.endsAt - now };
      leases.set(key, { token, holder, endsAt: now + ttlMs });
      return { token, holder, remainingMs: ttlMs };
    },
    async release(key, token) {
      if (leases.get(key)?.token === token) leases.delete(key);
    },
    close: async () => {},
  }),
});
