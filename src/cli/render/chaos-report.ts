/** Results of a crash test, for people and for programs. */
import { FAILPOINTS } from '../../engine/failpoints.ts';
import type { ChaosReport } from '../../features/fixtures/crash/crash-case.ts';
import type { CrashReport, StepFindings } from '../../features/fixtures/crash/try-crashes.ts';
import type { Terminal } from './render.ts';
import { count } from '../../lib/text/count.ts';
import { table } from './render.ts';

const INDENT = ' '.repeat(10);

export function printChaosReport(terminal: Terminal, report: ChaosReport): void {
  const line = (text: string): void => terminal.print(`${INDENT}${text}`);
  if ('skipped' in report) {
    line(terminal.ink('dim', `no crashes: ${report.skipped}`));
    return;
  }
  const verdict = terminal.ink(report.held ? 'green' : 'red', report.held ? 'held' : 'BROKEN');
  line(
    `${verdict}  ${report.promise}, ${count(report.tried, 'crash', 'crashes')} at ${report.steps} steps, ${count(report.records, 'record')}`,
  );
  for (const row of table(
    ['crash when', 'tried', 'lost', 'doubled', 'strange', 'failed', 'result'],
    report.findings.map(cellsOf),
    [1, 2, 3, 4, 5],
  ))
    line(`  ${row}`);
  for (const { step, broken, example } of report.findings) {
    if (example !== null) line(`  ${terminal.ink(broken ? 'red' : 'dim', `${step}: ${example}`)}`);
  }
  for (const note of report.notes) line(terminal.ink('dim', `  note: ${note}`));
}

function cellsOf({
  step,
  crashes,
  lost,
  doubled,
  strange,
  failed,
  broken,
}: StepFindings): string[] {
  const result =
    crashes === 0 ? 'not tried' : broken ? 'BROKEN' : doubled > 0 ? 'ok, written again' : 'ok';
  return [FAILPOINTS[step], ...[crashes, lost, doubled, strange, failed].map(String), result];
}

export function chaosDocument(report: ChaosReport): Record<string, unknown> {
  if ('skipped' in report) return { status: 'skipped', reason: report.skipped };
  const { promise, held, steps, tried, records, findings, notes }: CrashReport = report;
  return { status: held ? 'held' : 'broken', promise, steps, tried, records, findings, notes };
}
