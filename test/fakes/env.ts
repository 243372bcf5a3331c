import { systemClock, type Clock } from '../../src/lib/time/clock.ts';
import type { Env } from '../../src/lib/env.ts';
import { uuidIds } from '../../src/lib/ids.ts';
import { createLog, type LogLine } from '../../src/lib/log.ts';
import { noMetrics } from '../../src/lib/metrics/metrics.ts';
import { Redactor } from '../../src/lib/redact.ts';
import type { PartContext, SinkContext, SourceContext } from '../../src/kit/context.ts';

export interface TestEnv extends Env {
  /** Every line logged so far. */
  readonly lines: LogLine[];
}

/**
 * An `Env` for tests: real clock unless given, captured log, no metrics, no network unless given.
 */
export function testEnv(overrides: Partial<Env> & { clock?: Clock } = {}): TestEnv {
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

/** Serves as the context of sources and of sinks alike, working in `cwd`; log lines are kept. */
export interface TestContext extends SourceContext, SinkContext {
  readonly lines: LogLine[];
}

export function testContext(
  cwd: string,
  changes: Partial<SourceContext & SinkContext> = {},
): TestContext {
  const env = testEnv({ cwd });
  return { ...sourceContext(), ...sinkContext(), env, ...changes, lines: env.lines };
}
