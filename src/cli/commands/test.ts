import { availableParallelism } from 'node:os';
import { secretAsker } from '../../document/tokens/ask-secrets.ts';
import type { Document } from '../../document/document.ts';
import { loadDocumentFile, loadFileWithSecrets, type FileOptions } from '../../document/load.ts';
import { canonicalPaths, localFiles } from '../../document/text/local-file.ts';
import type { TokenSources } from '../../document/tokens/outside-values.ts';
import type { ChaosReport } from '../../features/fixtures/crash/crash-case.ts';
import type { CaseReport, ReadyCase, TestOptions } from '../../features/fixtures/run-tests.ts';
import type { Parts } from '../../kit/parts.ts';
import { chaosDocument, printChaosReport } from '../render/chaos-report.ts';
import type { CliContext } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { completionOf, DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { countedExit, EXIT, signalExit } from '../framework/exit.ts';
import { momentOption } from '../framework/moment-option.ts';
import { integerOption, switchOption, textOption, type Values } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { shortPath } from '../framework/report-error.ts';
import { listenForStop } from '../framework/signals.ts';
import { specFiles } from '../documents/spec-files.ts';

export const testCommand = defineCommand({
  name: 'test',
  summary: 'Run the test cases of documents: records in, records out.',
  description:
    'Runs every case of the spec files through the engine: transforms, masking, quality checks, contract and dead-letter queue are real, ' +
    'source and sinks are in memory. No source, sink, state store or secret is touched. The exit code is the number of failed cases.\n\n' +
    'With `--chaos` the document is run in processes that are killed at one durable step each (before and after a page is written, after a flush, ' +
    'after the bookmark, at the finish, …) and then run again from what was left. The destination, made anew in a temporary folder, must hold ' +
    'what it holds without a crash, as far as the row promises: at least once, nothing is lost; effectively once, nothing is lost or doubled.',
  arguments: [
    {
      name: 'specs',
      variadic: true,
      completes: 'file',
      description:
        'Spec files, patterns, or folders, in which `*.test.yaml`, `*.test.yml` and `*.test.json` are searched for. Default: this folder.',
    },
  ],
  options: {
    filter: textOption({ value: 'TEXT', description: 'Only cases with this in their name.' }),
    json: switchOption({ description: 'Print JSON.' }),
    clock: momentOption({
      description: 'Time to use for `${now.*}` in cases without a `clock`, instead of the present.',
    }),
    resolveSecrets: switchOption({
      description:
        'Resolve `${secret:…}` and the tokens of secrets managers; otherwise they stay as text.',
    }),
    chaos: switchOption({
      description:
        'Also kill each case at every durable step and run it again from what was left; see above.',
    }),
    chaosSteps: integerOption({
      value: 'N',
      min: 1,
      default: 60,
      description:
        'With `--chaos`: most steps to crash at; where there are more, this many are chosen at random.',
    }),
    chaosSeed: integerOption({
      value: 'N',
      default: 1,
      description: 'With `--chaos`: seed of that random choice.',
    }),
    chaosSecs: integerOption({
      value: 'N',
      min: 1,
      default: 300,
      description: 'With `--chaos`: time limit of one case, in seconds.',
    }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate test', description: 'Every case in this folder and its subfolders' },
    { command: 'headgate test orders.test.yaml --filter refund', description: 'Some of them' },
    { command: 'headgate test --chaos', description: 'Also test crashes' },
  ],
  async run(context, { options, positionals }) {
    const { world, env, wiring, terminal } = context;
    const { readyCases, testCase } = await import('../../features/fixtures/run-tests.ts');
    using stops = listenForStop(world, 'cancel', () => {});
    const parts = await wiring.parts();
    const tests = {
      parts,
      ...documentReader(context, parts, options),
      cpus: availableParallelism(),
      env,
      clock: options.clock ?? world.clock.now(),
      filter: options.filter,
      signal: stops.signal,
    };
    const reports: TestReport[] = [];
    try {
      for (const ready of await readyCases(await specFiles(positionals, world.cwd), tests)) {
        if (stops.signal.aborted) break;
        const report = {
          ...(await testCase(ready, tests)),
          spec: shortPath(ready.read.spec.file, world.cwd),
        };
        const chaos = options.chaos
          ? await chaosOf(context, ready, options, stops.signal)
          : undefined;
        reports.push(chaos === undefined ? report : withChaos(report, chaos));
        if (!options.json) tell(context, reports, chaos);
      }
    } catch (error) {
      // What was under way when the stop came has nothing to say.
      if (!stops.signal.aborted) throw error;
    }
    const signal = stops.received();
    if (signal !== undefined) return signalExit(signal);
    const failed = reports.filter(({ status }) => status === 'fail').length;
    const total = reports.length;
    if (options.json) terminal.json({ total, passed: total - failed, failed, tests: reports });
    else
      terminal.print(
        `${terminal.ink(failed === 0 ? 'green' : 'red', count(total, 'case'))}: ${total - failed} passed, ${failed} failed`,
      );
    return failed === 0 ? EXIT.ok : countedExit(failed);
  },
});

function documentReader(
  { world, env }: CliContext,
  parts: Parts,
  options: Values<typeof DOCUMENT_OPTIONS> & { readonly resolveSecrets: boolean },
): Pick<TestOptions, 'read' | 'sources'> {
  const sources: TokenSources = {
    variables: env.variables,
    redactor: env.redactor,
    readFile: localFiles(world.cwd),
    secretManagers: parts.secrets,
    ...(options.resolveSecrets ? {} : { secrets: 'keep' as const, keepSecrets: true }),
  };
  const load: FileOptions = {
    ...sources,
    canonicalPath: canonicalPaths(world.cwd),
    ...completionOf(options, env.variables),
    paramMode: 'placeholders',
  };
  const ask = secretAsker({ managers: parts.secrets, env });
  const read = async (file: string): Promise<Document> =>
    options.resolveSecrets ? loadFileWithSecrets(file, load, ask) : loadDocumentFile(file, load);
  return { read, sources };
}

interface TestReport extends CaseReport {
  readonly chaos?: Record<string, unknown>;
}

interface ChaosValues {
  readonly chaosSteps: number;
  readonly chaosSeed: number;
  readonly chaosSecs: number;
}

/** A run of a test case that takes longer hangs. */
const ATTEMPT_MS = 60_000;
/** Each is a process of its own. */
const MOST_CRASHERS = 4;

async function chaosOf(
  { world, wiring, allowedConnectors }: CliContext,
  ready: ReadyCase,
  options: ChaosValues,
  signal: AbortSignal,
): Promise<ChaosReport> {
  const { crashCase } = await import('../../features/fixtures/crash/crash-case.ts');
  return crashCase(ready, world.cwd, {
    entry: wiring.crashEntry(),
    packages: allowedConnectors,
    variables: world.variables,
    timeoutMs: ATTEMPT_MS,
    maxSteps: options.chaosSteps,
    seed: options.chaosSeed,
    concurrency: Math.min(availableParallelism(), MOST_CRASHERS),
    budgetMs: options.chaosSecs * 1000,
    elapsedMs: () => world.clock.elapsedMs(),
    signal,
  });
}

function withChaos(report: CaseReport, chaos: ChaosReport): TestReport {
  const document = chaosDocument(chaos);
  if ('skipped' in chaos || chaos.held) return { ...report, chaos: document };
  const broken = chaos.findings.find((one) => one.broken);
  const why =
    broken === undefined
      ? (chaos.notes.at(-1) ?? 'nothing was tried')
      : `${broken.step}: ${broken.example ?? ''}`;
  return {
    ...report,
    status: 'fail',
    failures: [...report.failures, `crash: ${why}`],
    chaos: document,
  };
}

/** The newest report, under the name of its file when that is another one than before. */
function tell(
  { terminal }: CliContext,
  reports: readonly TestReport[],
  chaos: ChaosReport | undefined,
): void {
  const [before, report] = [reports.at(-2), reports.at(-1)];
  if (report === undefined) return;
  if (before?.spec !== report.spec) terminal.print(terminal.ink('bold', report.spec));
  terminal.print(
    `  ${report.status === 'pass' ? terminal.ink('green', 'pass') : terminal.ink('red', 'FAIL')}  ${report.name}`,
  );
  for (const failure of report.failures) terminal.print(`          ${failure}`);
  if (chaos !== undefined) printChaosReport(terminal, chaos);
}
