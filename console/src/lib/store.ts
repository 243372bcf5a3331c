import { useEffect, useState } from 'preact/hooks';
import type { Store } from './create-store.ts';

export function useStore<T>(store: Store<T>): T {
  const [, again] = useState(0);
  const value = store.get();
  useEffect(() => {
    // It may have changed between drawing and listening.
    if (!Object.is(store.get(), value)) again((count) => count + 1);
    return store.subscribe(() => again((count) => count + 1));
  }, [store]);
  return value;
}
