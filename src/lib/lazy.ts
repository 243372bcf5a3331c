import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/**
 * A library that few runs need, loaded on first use so that other runs start faster. For
 * synchronous code; asynchronous code uses `await import(…)`.
 */
// The caller states the type: `typeof import(name)`.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function lazyLibrary<T>(name: string): () => T {
  let library: T | undefined;
  return () => (library ??= load(name) as T);
}

/** Libraries that several folders load this way. */
export const re2js = lazyLibrary<typeof import('re2js')>('re2js');
export const luxon = lazyLibrary<typeof import('luxon')>('luxon');
