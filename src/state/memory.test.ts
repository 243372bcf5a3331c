import { describe, expect, test } from 'vitest';
import { memoryState } from './memory.ts';
import { openState, stateSuite } from '../../test/conformance/state-store.ts';

describe('the memory state store', () => {
  stateSuite(() => openState(memoryState, {}));

  test('a value changed after the put is not changed in the store', async () => {
    const store = await openState(memoryState, {});
    const value = { at: 1 };
    await store.put('memory::copy', value);
    value.at = 2;
    expect(await store.get('memory::copy')).toEqual({ at: 1 });
  });
});
