/** What parts are opened with where no run is: by the suites, and by tests. */
import type { PartContext, SinkContext, SourceContext } from '../kit/context.ts';
import type { Env } from '../lib/env.ts';
import { uuidIds } from '../lib/ids.ts';
import { createLog, type LogLine } from '../lib/log.ts';
import { noMetrics } from '../lib/metrics/metrics.ts';
import { Redactor } from '../lib/redact.ts';
import { systemClock } from '../lib/time/clock.ts';

export interface TestEnv extends Env {
  /** Every line logged so far. */
  readonly lines: LogLine[];
}

/** Real clock unless given, captured log, no metrics, the variables that are given. */
export function testEnv(overrides: Partial<Env> = {}): TestEnv {
  const lines: LogLine[] = [];
  const redactor = overrides.redactor ?? new Redactor();
  const clock = overrides.clock ?? systemClock;
  const log = createLog({
    level: 'debug',
    target: 'test',
    clock,
    redactor,
    write: (line) => lines.push(line),
  });
  return {
    clock,
    ids: uuidIds,
    log,
    metrics: noMetrics,
    redactor,
    fetch,
    variables: {},
    cwd: process.cwd(),
    ...overrides,
    lines,
  };
}

export function partContext(overrides: Partial<PartContext> = {}): PartContext {
  return {
    env: testEnv(),
    pipeline: 'test',
    row: 'row-0',
    invocationId: uuidIds.next(),
    signal: new AbortController().signal,
    credentials: {
      resolve: () => ({
        get: () => Promise.resolve({ headers: {}, query: {} }),
        invalidate: () => {},
      }),
    },
    ...overrides,
  };
}

export function sourceContext(overrides: Partial<SourceContext> = {}): SourceContext {
  return { ...partContext(), pageBytes: 4 * 1024 * 1024, ...overrides };
}

export function sinkContext(overrides: Partial<SinkContext> = {}): SinkContext {
  return { ...partContext(), role: 'main', runId: uuidIds.next(), ...overrides };
}
