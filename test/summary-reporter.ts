/**
 * Ends a test run with what was skipped, why and how to run it, what passed only at a second try,
 * and one plain line of counts.
 */
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * A suite that needs something this machine lacks says so in its title: `the redis state store [no
 * Redis: set …]`.
 */
const REASON = /\[([^\]]+)\]/;

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const skipped = new Map<string, number>();
    const unsteady: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state] += 1;
        if (test.diagnostic()?.flaky === true) unsteady.push(formatUnsteady(test));
        if (state !== 'skipped') continue;
        const line = `${relative(process.cwd(), module.moduleId)}: ${reasonOf(test)}`;
        skipped.set(line, (skipped.get(line) ?? 0) + 1);
      }
      // A file that cannot even be read has no tests, and has failed.
      if (module.state() === 'failed' && module.errors().length > 0) counts.failed += 1;
    }
    console.log('');
    for (const [line, times] of skipped) console.log(`skipped ${times} in ${line}`);
    for (const line of unsteady) console.log(line);
    console.log(
      `tests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped` +
        (unsteady.length === 0 ? '' : `, ${unsteady.length} of these passed only at a second try`),
    );
  }
}

/** The note of `skip(…)` where there is one. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  if (result.state === 'skipped' && result.note !== undefined) return result.note;
  return REASON.exec(test.fullName)?.[1] ?? `\`${test.fullName}\` does not apply`;
}

/** A test that fails once is a defect to be mended, of the test or of the product. */
function formatUnsteady(test: TestCase): string {
  const causes = (test.result().errors ?? []).map(({ message }) => `  ${message}`);
  const place = relative(process.cwd(), test.module.moduleId);
  return [`unsteady: ${place}: ${test.fullName}: failed, then passed`, ...causes].join('\n');
}
