import { describe, expect, test } from 'vitest';
import { memoryState } from './memory.ts';
import { openState } from '../../test/fakes/open-state.ts';

describe('the memory state store', () => {
  test('a value changed after the put is not changed in the store', async () => {
    const store = await openState(memoryState, {});
    const value = { at: 1 };
    await store.put('memory::copy', value);
    value.at = 2;
    expect(await store.get('memory::copy')).toEqual({ at: 1 });
  });
});
