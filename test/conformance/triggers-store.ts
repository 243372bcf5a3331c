/** The contract of a store of what triggers remember, as a suite every implementation is held to. */
import { describe, expect, it } from 'vitest';
import type { TriggerStore } from '../../src/history/triggers.ts';

export function describeTriggers(name: string, open: () => Promise<TriggerStore>): void {
  describe(`memories of triggers in ${name}`, () => {
    it('gives what was stored last, with the number of its change', async () => {
      const store = await open();
      expect(await store.getTriggerMemory('a')).toBeUndefined();
      expect(await store.putTriggerMemory('a', { revision: 0, content: '"ü\\u0000"' })).toBe(true);
      expect(await store.putTriggerMemory('a', { revision: 1, content: '2' })).toBe(true);
      expect(await store.getTriggerMemory('a')).toEqual({ revision: 2, content: '2' });
      expect(await store.getTriggerMemory('b')).toBeUndefined();
    });

    it('takes nothing that was made of an older one', async () => {
      const store = await open();
      expect(await store.putTriggerMemory('a', { revision: 1, content: 'early' })).toBe(false);
      await store.putTriggerMemory('a', { revision: 0, content: '1' });
      await store.putTriggerMemory('a', { revision: 1, content: '2' });
      for (const revision of [0, 1, 3])
        expect(await store.putTriggerMemory('a', { revision, content: 'late' })).toBe(false);
      expect(await store.getTriggerMemory('a')).toEqual({ revision: 2, content: '2' });
    });

    it('takes one of many that come at once', async () => {
      const store = await open();
      for (const revision of [0, 1]) {
        const taken = await Promise.all(
          ['1', '2', '3'].map((content) => store.putTriggerMemory('a', { revision, content })),
        );
        expect(taken.filter(Boolean)).toHaveLength(1);
      }
    });
  });
}
