/** The contract of a state store. */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { check } from '../../src/kit/schema.ts';
import type { StateStore, StateStoreDefinition } from '../../src/kit/state-store.ts';
import { partContext } from '../fakes/env.ts';
import { itIsWellDefined } from './definition.ts';

export interface StateHarness {
  /** A config naming an empty store; the same config opened twice names the same store. */
  fresh(): Promise<JsonObject>;
}

const VALUES: readonly JsonValue[] = [
  null,
  true,
  0,
  -1.5,
  '2026-01-31T00:00:00Z',
  'é"\\\n',
  [1, [2]],
  { last_lsn: '0/16B3748', nested: { a: [null] } },
];

export function describeStateStore(definition: StateStoreDefinition, harness: StateHarness): void {
  describe(`state store ${definition.type} keeps the store contract`, () => {
    itIsWellDefined(definition);

    it('knows nothing at first', async () => {
      await using store = await open(await harness.fresh());
      expect(await store.get('orders::row-0')).toBeUndefined();
    });

    it('gives back every kind of JSON value', async () => {
      await using store = await open(await harness.fresh());
      for (const [index, value] of VALUES.entries()) {
        await store.put(`orders::row-${index}`, value);
        expect(await store.get(`orders::row-${index}`)).toEqual(value);
      }
    });

    it('keeps the last value of a key and leaves the others alone', async () => {
      await using store = await open(await harness.fresh());
      await store.put('orders::a', 1);
      await store.put('orders::b', 2);
      await store.put('orders::a', 3);
      expect([await store.get('orders::a'), await store.get('orders::b')]).toEqual([3, 2]);
    });

    it('tells keys apart that differ only in case, colons or percent signs', async () => {
      await using store = await open(await harness.fresh());
      const keys = ['a::b', 'a:b', 'A::b', 'a%3Ab', 'a%3A%3Ab', 'a::b=c&d', 'a.b/c'];
      for (const [index, key] of keys.entries()) await store.put(key, index);
      for (const [index, key] of keys.entries()) expect(await store.get(key)).toBe(index);
    });

    it('forgets a deleted key, and deleting it again is no error', async () => {
      await using store = await open(await harness.fresh());
      await store.put('orders::a', 1);
      await store.delete('orders::a');
      await store.delete('orders::a');
      expect(await store.get('orders::a')).toBeUndefined();
    });

    it('remembers across a reopening', async () => {
      const config = await harness.fresh();
      {
        await using store = await open(config);
        await store.put('orders::a', { seq: 7 });
      }
      await using again = await open(config);
      expect(await again.get('orders::a')).toEqual({ seq: 7 });
    });

    it('survives many writers of one key: one of their values stands', async () => {
      await using store = await open(await harness.fresh());
      await Promise.all(Array.from({ length: 20 }, (_, index) => store.put('orders::a', index)));
      expect(await store.get('orders::a')).toBeOneOf(Array.from({ length: 20 }, (_, index) => index));
    });
  });

  async function open(config: JsonObject): Promise<StateStore & AsyncDisposable> {
    const checked = check(definition.config, config);
    if (!checked.ok) throw new Error(`the harness config is not valid: ${JSON.stringify(checked.issues)}`);
    const store = await definition.open(checked.value, partContext());
    return {
      get: (key) => store.get(key),
      put: (key, value) => store.put(key, value),
      delete: (key) => store.delete(key),
      close: () => store.close(),
      [Symbol.asyncDispose]: () => store.close(),
    };
  }
}
