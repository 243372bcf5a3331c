import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/summary-reporter.ts';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    environment: 'node',
    globalSetup: ['test/servers/postgres.ts'],
    pool: 'forks',
    reporters: ['default', new SummaryReporter()],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
