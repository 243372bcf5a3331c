import type { SinkContext, SourceContext } from '../../kit/context.ts';
import { systemClock } from '../../lib/clock.ts';
import { createLog, type LogLine } from '../../lib/log.ts';
import { noMetrics } from '../../lib/metrics.ts';
import { Redactor } from '../../lib/redact.ts';
import { uuidIds } from '../../lib/ids.ts';

/** A context for the tests of this family, working in `cwd`; log lines are kept. */
export interface TestContext extends SourceContext, SinkContext {
  readonly lines: LogLine[];
}

export function testContext(cwd: string, changes: Partial<SourceContext & SinkContext> = {}): TestContext {
  const lines: LogLine[] = [];
  const redactor = new Redactor();
  const log = createLog({ level: 'debug', target: 'test', clock: systemClock, redactor, write: (line) => lines.push(line) });
  return {
    env: { clock: systemClock, ids: uuidIds, log, metrics: noMetrics, redactor, fetch: globalThis.fetch, variables: {}, cwd },
    pipeline: 'test',
    row: 'row',
    runId: 'run',
    invocationId: 'invocation',
    role: 'main',
    signal: new AbortController().signal,
    credentials: {
      resolve: () => ({ get: async () => ({ headers: {}, query: {} }), invalidate: () => {} }),
    },
    pageBytes: 1024 * 1024,
    ...changes,
    lines,
  };
}

/** How some work failed, as plain data to compare with. */
export async function failureOf(work: Promise<unknown>): Promise<{ kind: unknown; message: string }> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Error) return { kind: 'kind' in error ? error.kind : undefined, message: error.message };
    throw error;
  }
  throw new Error('it did not fail');
}
