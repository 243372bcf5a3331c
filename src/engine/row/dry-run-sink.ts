import type { Sink } from '../../kit/sink.ts';

/** Counts instead of writing; by its type it cannot touch a destination. */
export function dryRunSink(): Sink {
  return {
    write: (page) => Promise.resolve({ written: page.count, rejected: [] }),
    flush: () => Promise.resolve(),
    finish: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
