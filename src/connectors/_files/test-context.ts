import type { SinkContext, SourceContext } from '../../kit/context.ts';
import type { LogLine } from '../../lib/log.ts';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';

/** A context for the tests of this family, working in `cwd`; log lines are kept. */
export interface TestContext extends SourceContext, SinkContext {
  readonly lines: LogLine[];
}

export function testContext(cwd: string, changes: Partial<SourceContext & SinkContext> = {}): TestContext {
  const env = testEnv({ cwd });
  return { ...sourceContext(), ...sinkContext(), env, ...changes, lines: env.lines };
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
