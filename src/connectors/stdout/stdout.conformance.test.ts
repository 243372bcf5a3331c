import { afterAll, beforeAll, vi } from 'vitest';
import { describeSink } from '../../../test/conformance/sink.ts';
import { stdoutSink } from './index.ts';

// The records of the suite are no output of the test run.
beforeAll(() => {
  vi.spyOn(process.stdout, 'write').mockImplementation((...args: unknown[]) => {
    const done = args.find((arg) => typeof arg === 'function') as
      | ((error?: Error) => void)
      | undefined;
    done?.();
    return true;
  });
});
afterAll(() => vi.restoreAllMocks());

describeSink(stdoutSink, {
  fresh: () => Promise.resolve({ config: {}, rows: () => Promise.resolve(undefined) }),
  broken: {},
  unreadable: 'what is printed cannot be read back',
});
