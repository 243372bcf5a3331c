import { useEffect, useState } from 'preact/hooks';

/** A value that components follow. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(first: T): Store<T> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

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
