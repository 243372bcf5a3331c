import { lineageBlock } from '../../blocks/lineage/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { Env } from '../../lib/env.ts';
import type { Issue } from '../../lib/errors.ts';
import type { Plan } from '../../plan/plan.ts';
import { defineCommand } from '../framework/command.ts';
import { completionOf, DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { configFile } from '../framework/config-file.ts';
import type { CliContext } from '../framework/context.ts';
import { countedExit, signalExit } from '../framework/exit.ts';
import { canonicalPaths, localFiles } from '../../document/text/local-file.ts';
import { integerOption, switchOption, type Values } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { type Style } from '../render/render.ts';
import { reportIssue, shortPath } from '../framework/report-error.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';
import type { DoctorReport } from '../../wire/doctor.ts';

type ProbeStatus = DoctorReport['invocations'][number]['probes'][number]['status'];

const STATUS_STYLES: Readonly<Record<ProbeStatus, Style>> = {
  pass: 'green',
  fail: 'red',
  skip: 'dim',
};

export const doctorCommand = defineCommand({
  name: 'doctor',
  summary: 'Check that a document can run: connections, rights, state.',
  description:
    'Probes the source, sink and state store of every row without moving records, and says what to do about a failure. ' +
    'The exit code is the number of failed probes.\n\n' +
    'With `--offline` nothing is contacted: only the text of the document is checked, and the exit code is the number of errors.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    timeoutSecs: integerOption({
      value: 'N',
      min: 1,
      default: 10,
      description: 'Time limit of one probe, in seconds.',
    }),
    json: switchOption({ description: 'Print JSON.' }),
    offline: switchOption({ description: 'Contact nothing; check the text only.' }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
  },
  examples: [
    { command: 'headgate doctor orders.yaml', description: 'Before the first run' },
    { command: 'headgate doctor orders.yaml --offline', description: 'In CI' },
  ],
  async run(context, { options, positionals: [config] }) {
    if (options.offline) return checkText(context, config, options);
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { world, env, terminal } = context;
    const { file, plan, parts } = await loadPlan(context, {
      config,
      selection: options,
      completion: options,
    });
    const { doctor } = await import('../../engine/checks/doctor.ts');
    using stops = listenForStop(world, 'cancel', () => {});
    const from = world.clock.elapsedMs();
    const timeoutMs = options.timeoutSecs * 1000;
    const rows = await doctor({
      plan,
      parts,
      env,
      clock: world.clock.now(),
      signal: stops.signal,
      timeoutMs,
    });
    const report = {
      invocations: [
        ...rows.invocations,
        ...(await beside(plan, env, { signal: stops.signal, timeoutMs })),
      ],
    };
    const summary = { ...tally(report), elapsed_ms: Math.round(world.clock.elapsedMs() - from) };
    if (options.json) terminal.json({ config: shortPath(file, world.cwd), ...report, summary });
    else printReport(context, report, summary);
    const signal = stops.received();
    return signal === undefined ? countedExit(summary.failed) : signalExit(signal);
  },
});

/** What belongs to no row. */
async function beside(
  plan: Plan,
  env: Env,
  bounds: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<DoctorReport['invocations']> {
  const lineage = blockOf(plan, lineageBlock);
  if (lineage === undefined) return [];
  const { probeLineage } = await import('../../features/lineage/probe.ts');
  return [{ id: 'lineage', probes: [await probeLineage(lineage.spec, { env, ...bounds })] }];
}

interface OfflineOptions extends Values<typeof DOCUMENT_OPTIONS> {
  readonly json: boolean;
}

function tally(report: DoctorReport): { passed: number; failed: number; skipped: number } {
  const statuses = report.invocations.flatMap((row) => row.probes.map((probe) => probe.status));
  const number = (status: ProbeStatus): number => statuses.filter((one) => one === status).length;
  return { passed: number('pass'), failed: number('fail'), skipped: number('skip') };
}

function printReport(
  { terminal }: CliContext,
  report: DoctorReport,
  summary: ReturnType<typeof tally>,
): void {
  for (const row of report.invocations) {
    terminal.print(`${terminal.ink('bold', row.id)}  ${row.delivery ?? ''}`.trimEnd());
    for (const probe of row.probes) {
      const name = `${probe.role} ${probe.connector}: ${probe.name}`;
      const reason = probe.reason === undefined ? '' : `  ${probe.reason}`;
      terminal.print(
        `  ${terminal.ink(STATUS_STYLES[probe.status], probe.status)}  ${name}${reason}`,
      );
      if (probe.hint !== undefined) terminal.print(`        ${probe.hint}`);
    }
  }
  terminal.print(
    `${count(summary.passed, 'probe')} passed, ${summary.failed} failed, ${summary.skipped} skipped`,
  );
}

async function checkText(
  context: CliContext,
  config: string | undefined,
  options: OfflineOptions,
): Promise<number> {
  const { composeFile } = await import('../../document/load.ts');
  const { textFindings } = await import('../../features/lint/text-findings.ts');
  const { terminal, world, env } = context;
  const { json } = options;
  const file = configFile(context, config);
  const { profile } = completionOf(options, env.variables);
  const { tree, locate } = composeFile(file, {
    readFile: localFiles(world.cwd),
    canonicalPath: canonicalPaths(world.cwd),
    ...(profile === undefined ? {} : { profile }),
  });
  const findings = textFindings(tree);
  const errors = findings.filter((finding) => finding.severity === 'error').length;
  if (json) {
    terminal.json({
      config: shortPath(file, world.cwd),
      errors,
      warnings: findings.length - errors,
      findings,
    });
    return countedExit(errors);
  }
  for (const { severity, path, ...finding } of findings) {
    const issue: Issue = { ...finding, path, ...locate(path) };
    reportIssue(issue, severity, { terminal, cwd: world.cwd, document: file });
  }
  terminal.note(
    findings.length === 0
      ? 'nothing to complain about'
      : `${count(errors, 'error')}, ${count(findings.length - errors, 'warning')}`,
  );
  return countedExit(errors);
}
