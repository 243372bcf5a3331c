/** State stores that break their contract on purpose, each with the clause that must catch it. */
import type { StateStore, StateStoreDefinition } from '../../../src/kit/state-store.ts';
import type { JsonValue } from '../../../src/lib/text/json.ts';
import { fileState } from '../../../src/state/file.ts';

export interface BrokenStore {
  readonly what: string;
  readonly caughtBy: string;
  readonly definition: StateStoreDefinition;
}

function broken(
  caughtBy: string,
  what: string,
  spoil: (sound: StateStore) => Partial<StateStore>,
): BrokenStore {
  const open: StateStoreDefinition['open'] = async (config, context) => {
    const sound = await fileState.open(config, context);
    return {
      get: (key) => sound.get(key),
      put: (key, value) => sound.put(key, value),
      putHeld: (key, value, holding) => sound.putHeld(key, value, holding),
      delete: (key) => sound.delete(key),
      deleteHeld: (key, holding) => sound.deleteHeld(key, holding),
      entries: (key) => sound.entries(key),
      lease: (key, request) => sound.lease(key, request),
      release: (key, token) => sound.release(key, token),
      close: () => sound.close(),
      ...spoil(sound),
    };
  };
  const type = `broken-${what.replaceAll(/[^a-z]+/g, '-')}`;
  return { what, caughtBy, definition: { ...fileState, open, type } };
}

/** What a process has put and not written: others in it read it, and a kill loses it. */
const unwritten = new Map<string, JsonValue>();

export const BROKEN_STORES: readonly BrokenStore[] = [
  broken('kill', 'returns from a put before the value is durable', (sound) => ({
    get: async (key) => unwritten.get(key) ?? sound.get(key),
    put: (key, value) => {
      unwritten.set(key, value);
      return Promise.resolve();
    },
  })),
  broken('held', 'stores a value although another one has the lease', (sound) => ({
    async putHeld(key, value) {
      await sound.put(key, value);
      return true;
    },
  })),
  broken('delete_held', 'deletes a value although another one has the lease', (sound) => ({
    async deleteHeld(key) {
      await sound.delete(key);
      return true;
    },
  })),
  broken('held', 'gives a lease again to whoever lost it', (sound) => ({
    lease: (key, { renews: _renews, ...request }) => sound.lease(key, request),
  })),
  broken('seen', 'writes when it is closed', (sound) => {
    const pending = new Map<string, JsonValue>();
    return {
      get: async (key) => pending.get(key) ?? sound.get(key),
      put: (key, value) => {
        pending.set(key, value);
        return Promise.resolve();
      },
      async close() {
        for (const [key, value] of pending) await sound.put(key, value);
        await sound.close();
      },
    };
  }),
  broken('keys', 'takes keys for equal that differ in case', (sound) => ({
    get: (key) => sound.get(key.toLowerCase()),
    put: (key, value) => sound.put(key.toLowerCase(), value),
  })),
  broken('values', 'rounds whole numbers to doubles', (sound) => ({
    put: (key, value) => sound.put(key, typeof value === 'bigint' ? Number(value) : value),
  })),
  broken('entries', 'lists keys of another name that begins alike', (sound) => ({
    entries: async (key) => sound.entries(key.replace(/::.*$/, '')),
  })),
  broken('lease', 'leases a key to everybody', () => ({
    lease: async (_key, { token, holder, ttlMs }) => ({ token, holder, remainingMs: ttlMs }),
  })),
  broken('lease', 'lets anybody end a lease', (sound) => ({
    async release(key) {
      const held = await sound.lease(key, { token: 'nobody', ttlMs: 1, holder: {} });
      await sound.release(key, held.token);
    },
  })),
  broken('lease_end', 'keeps a lease for ever', (sound) => ({
    lease: (key, request) => sound.lease(key, { ...request, ttlMs: 3_600_000 }),
  })),
  broken('last', 'keeps the first value of a key', (sound) => ({
    put: async (key, value) =>
      (await sound.get(key)) === undefined ? sound.put(key, value) : undefined,
  })),
];
