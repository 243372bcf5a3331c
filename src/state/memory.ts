import { z } from 'zod';
import { parseJson, stringifyJson } from '../lib/text/json.ts';
import { defineStateStore, NO_LEASE, type Lease } from '../kit/state-store.ts';

/**
 * Bookmarks of this process, stored as JSON text so that callers share no objects with the store.
 */
const values = new Map<string, string>();
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
      const text = values.get(key);
      return text === undefined ? undefined : parseJson(text);
    },
    async put(key, value) {
      values.set(key, stringifyJson(value));
    },
    async putHeld(key, value, { lease, token }) {
      if (leases.get(lease)?.token !== token) return false;
      values.set(key, stringifyJson(value));
      return true;
    },
    async delete(key) {
      values.delete(key);
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
