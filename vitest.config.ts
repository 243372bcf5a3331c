import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/slowest-first.ts';
import { SummaryReporter } from './test/summary-reporter.ts';

// Hundreds of processes run the sources, which Node would strip of types and compile in each of them.
process.env['NODE_COMPILE_CACHE'] ??= join(
  import.meta.dirname,
  'node_modules/.cache/headgate-tests',
);

/** Runs for as long as somebody asks for: `npm run torture`. */
const TORTURE =
  process.env['HEADGATE_TORTURE_MINUTES'] === undefined
    ? ['test/cluster/torture.long.test.ts']
    : [];
const LONG = ['src/**/*.{long,integration}.test.ts', 'test/**/*.long.test.ts'];

const inCi = process.env['CI'] !== undefined;

const shared = {
  environment: 'node' as const,
  globalSetup: ['test/servers/postgres.ts', 'test/servers/bundle.ts'],
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // What is waited for may take long on a busy machine; `test/support/eventually.ts` has the same.
  expect: { poll: { timeout: 40_000, interval: 25 } },
  // A failure that does not come back is reported by name at the end, and does not refuse a change.
  retry: inCi ? 1 : 0,
};

/**
 * `npm test` runs `short`; `npm run test:long` runs the suites that take long, that need servers,
 * that kill, starve or attack whole processes, that follow the guide and the examples step by step,
 * that replace modules, or that test other suites. CI runs both.
 */
export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    sequence: { sequencer: SlowestFirst },
    // The default leaves one processor idle.
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          ...shared,
          name: 'short',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: LONG,
          // Loading the program anew for each of the files would take a fifth of the time of them all.
          isolate: false,
        },
      },
      {
        test: {
          ...shared,
          name: 'long',
          include: LONG,
          exclude: TORTURE,
          // Thousands of them speak with servers and browsers beside each other, on slow machines too.
          retry: inCi ? 2 : 0,
        },
      },
    ],
  },
});
