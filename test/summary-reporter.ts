/**
 * Ends a test run with what was skipped, why and how to run it, what passed only when tried again,
 * what failed, and one plain line of counts: whoever sees only the end of a long log sees the failures.
 */
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/**
 * A suite that needs something this machine lacks says so in its title: `the redis state store [no
 * Redis: set …]`.
 */
const REASON = /\[([^\]]+)\]/;

/** Of a message that compares two long values, the whole of which stands further up in the log. */
const LINES_OF_A_CAUSE = 12;

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[] = []): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const skipped = new Map<string, number>();
    const unsteady: string[] = [];
    const failed: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state] += 1;
        if (test.diagnostic()?.flaky === true) unsteady.push(formatUnsteady(test));
        if (state === 'failed') failed.push(formatFailed(test));
        if (state !== 'skipped') continue;
        const line = `${placeOf(module)}: ${reasonOf(test)}`;
        skipped.set(line, (skipped.get(line) ?? 0) + 1);
      }
      // A file that cannot even be read has no tests, and has failed; so has one whose hooks fail.
      const suites = [module, ...module.children.allSuites()];
      const errors = suites.flatMap((suite) => suite.errors());
      if (errors.length === 0) continue;
      counts.failed += 1;
      failed.push([`failed: ${placeOf(module)}`, ...causes(errors)].join('\n'));
    }
    // No test waited for them, yet they fail the run.
    for (const error of unhandled) {
      counts.failed += 1;
      failed.push(formatUnhandled(error));
    }
    console.log('');
    for (const [line, times] of skipped) console.log(`skipped ${times} in ${line}`);
    for (const line of [...unsteady, ...failed]) console.log(line);
    console.log(
      `tests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped` +
        (unsteady.length === 0 ? '' : `, ${unsteady.length} of these passed only when tried again`),
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
  const title = `unsteady: ${placeOf(test.module)}: ${test.fullName}: failed, then passed`;
  return [title, ...causes(test.result().errors)].join('\n');
}

function formatFailed(test: TestCase): string {
  const title = `failed: ${placeOf(test.module)}: ${test.fullName}`;
  return [title, ...causes(test.result().errors)].join('\n');
}

function formatUnhandled(error: SerializedError): string {
  const { type, name, message, stack, VITEST_TEST_PATH: path } = error;
  const where = typeof path === 'string' ? ` in ${relative(process.cwd(), path)}` : '';
  const cause = stack ?? `${name ?? 'Error'}: ${message}`;
  return [
    `failed: ${typeof type === 'string' ? type : 'an error'} that no test waited for${where}`,
    indented(cause),
  ].join('\n');
}

function placeOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}

function causes(errors: readonly { message: string }[] = []): string[] {
  return errors.map(({ message }) => indented(message));
}

function indented(text: string): string {
  const lines = text.split('\n');
  const rest = lines.length - LINES_OF_A_CAUSE;
  const shown = rest > 0 ? [...lines.slice(0, LINES_OF_A_CAUSE), `… ${rest} more lines`] : lines;
  return shown.map((line) => `  ${line}`).join('\n');
}
