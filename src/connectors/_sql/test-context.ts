import { systemClock } from '../../lib/clock.ts';
import { uuidIds } from '../../lib/ids.ts';
import { createLog, type LogLine } from '../../lib/log.ts';
import { noMetrics } from '../../lib/metrics.ts';
import { Redactor } from '../../lib/redact.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { SinkContext, SourceContext } from '../../kit/context.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import type { Source } from '../../kit/source.ts';

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
    credentials: { resolve: () => ({ get: async () => ({ headers: {}, query: {} }), invalidate: () => {} }) },
    pageBytes: 1024 * 1024,
    ...changes,
    lines,
  };
}

/** All pages of a source, which is closed after. */
export async function readAll(source: Source, request: { bookmark?: JsonValue; limit?: number } = {}): Promise<Page[]> {
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE, ...request })) pages.push(page);
    return pages;
  } finally {
    await source.close();
  }
}
