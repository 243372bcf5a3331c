import { z } from 'zod';
import { parseJson, stringifyJson } from '../lib/text/json.ts';
import { defineStateStore } from '../kit/state-store.ts';

/**
 * Bookmarks of this process, stored as JSON text so that callers share no objects with the store.
 */
const values = new Map<string, string>();

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
    async delete(key) {
      values.delete(key);
    },
    close: async () => {},
  }),
});
