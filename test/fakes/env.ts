import {
  sinkContext,
  sourceContext,
  testEnv,
  type TestEnv,
} from '../../src/conformance/contexts.ts';
import type { SinkContext, SourceContext } from '../../src/kit/context.ts';
import type { LogLine } from '../../src/lib/log.ts';

export {
  partContext,
  sinkContext,
  sourceContext,
  testEnv,
} from '../../src/conformance/contexts.ts';
export type { TestEnv } from '../../src/conformance/contexts.ts';

/** Serves as the context of sources and of sinks alike, working in `cwd`; log lines are kept. */
export interface TestContext extends SourceContext, SinkContext {
  readonly lines: LogLine[];
}

export function testContext(
  cwd: string,
  changes: Partial<SourceContext & SinkContext> = {},
): TestContext {
  const env: TestEnv = testEnv({ cwd });
  return { ...sourceContext(), ...sinkContext(), env, ...changes, lines: env.lines };
}
