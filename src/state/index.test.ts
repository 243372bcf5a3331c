import { expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import { STATE_STORES } from './index.ts';

test('the stores are sorted by type', () => {
  const types = STATE_STORES.map((store) => store.type);
  expect(types).toEqual(types.toSorted());
});

test.each(STATE_STORES.map((store) => [store.type, store] as const))(
  'the examples of %s can be used',
  (_type, store) => {
    for (const example of store.examples)
      expect(check(store.config, example)).toMatchObject({ ok: true });
  },
);

test('only memory forgets', () => {
  expect(STATE_STORES.filter((store) => !store.durable).map((store) => store.type)).toEqual([
    'memory',
  ]);
});
