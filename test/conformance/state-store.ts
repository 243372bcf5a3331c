/** What every state store must do; each store runs it against the real thing. */
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { check } from '../../src/kit/schema.ts';
import type { StateStore, StateStoreDefinition } from '../../src/kit/state-store.ts';
import { partContext, testEnv } from '../fakes/env.ts';

export async function openState(
  definition: StateStoreDefinition,
  config: JsonObject,
  cwd = '/',
): Promise<StateStore> {
  const checked = check(definition.config, config);
  if (!checked.ok)
    throw new Error(checked.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '));
  return definition.open(checked.value, partContext({ env: testEnv({ cwd }) }));
}

/** `open` gives another handle of the same store each time. */
export function stateSuite(open: () => Promise<StateStore>): void {
  const withStore = async (work: (store: StateStore) => Promise<void>): Promise<void> => {
    const store = await open();
    try {
      await work(store);
    } finally {
      await store.close();
    }
  };

  test('a key that was never put has no value', () =>
    withStore(async (store) => expect(await store.get('suite::never')).toBeUndefined()));

  test.each<[string, JsonValue]>([
    ['null', null],
    ['true', true],
    ['zero', 0],
    ['a text', 'x'],
    ['a 64-bit integer', 9_007_199_254_740_993n],
    ['a list', [1, { a: 'ü\n' }]],
    ['a mapping', { __svc_eo: 1, bookmark: { at: 1.5 }, seq: 3 }],
  ])('%s comes back as it was put, also through another handle', async (_name, value) => {
    await withStore((store) => store.put('suite::kind', value));
    await withStore(async (store) => expect(await store.get('suite::kind')).toEqual(value));
  });

  test('the last value of a key counts, and a deleted key has none', () =>
    withStore(async (store) => {
      await store.put('suite::last', 1);
      await store.put('suite::last', 2);
      expect(await store.get('suite::last')).toBe(2);
      await store.delete('suite::last');
      await store.delete('suite::last');
      expect(await store.get('suite::last')).toBeUndefined();
    }));

  test('keys that look alike do not meet', () =>
    withStore(async (store) => {
      const keys = [
        'suite::a:b',
        'suite::a%3Ab',
        'suite::a/b',
        'suite::a=b&c',
        'suite::A:b',
        `suite::${'x'.repeat(240)}1`,
        `suite::${'x'.repeat(240)}2`,
      ];
      for (const [index, key] of keys.entries()) await store.put(key, index);
      for (const [index, key] of keys.entries()) expect(await store.get(key)).toBe(index);
      for (const key of keys) await store.delete(key);
    }));

  test('of many writers of one key one wins, whole', () =>
    withStore(async (store) => {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => store.put('suite::race', { index })),
      );
      expect(await store.get('suite::race')).toEqual({
        index: expect.toSatisfy((index) => Number.isInteger(index)) as number,
      });
      await store.delete('suite::race');
    }));
}
