import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/**
 * A library that few runs need: loaded when it is first asked for, so that the others start without
 * it. For code that cannot wait; where it can, `await import(…)` says the same in plain words.
 */
// T is what the caller knows: `typeof import(name)`.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function lazyLibrary<T>(name: string): () => T {
  let library: T | undefined;
  return () => (library ??= load(name) as T);
}

/** Those that several folders need now and then. */
export const re2js = lazyLibrary<typeof import('re2js')>('re2js');
export const luxon = lazyLibrary<typeof import('luxon')>('luxon');
