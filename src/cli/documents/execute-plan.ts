/** Executes a plan in this process, with everything that a person at a terminal sees of it. */
import { availableParallelism } from 'node:os';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, signalExit } from '../framework/exit.ts';
import { momentOption } from '../framework/moment-option.ts';
import {
  choiceOption,
  integerOption,
  switchOption,
  textOption,
  type Values,
} from '../framework/option.ts';
import { listenForStop, type Stops } from '../framework/signals.ts';
import { progressLine } from '../render/progress-line.ts';
import { reportFailures, rowDocument, runDocument, summarizeRun } from '../render/run-report.ts';
import { documentEnv } from './document-env.ts';
import { limitedOverwrite } from './limited-overwrite.ts';
import type { Loaded } from './load-plan.ts';
import type { ReceiptOfRun } from './write-receipt.ts';

export const EXECUTE_OPTIONS = {
  dryRun: switchOption({
    description: 'Read and transform, but write nothing and store no bookmark.',
  }),
  limit: integerOption({
    value: 'N',
    min: 1,
    description: 'Write at most this many records for each matrix row; no bookmark is stored.',
  }),
  clock: momentOption({ description: 'Time to use for `${now.*}`, instead of the present.' }),
  threads: integerOption({
    value: 'N',
    min: 0,
    description:
      'Extra threads for transforms of rows with many records; 0 for none. Default: processors minus one, at most 4.',
  }),
  output: choiceOption({
    value: 'FORMAT',
    choices: ['text', 'json', 'ndjson'],
    default: 'text',
    description:
      'Print a summary to stderr, one JSON document to stdout, or one JSON line for each matrix row.',
  }),
  receipt: textOption({
    value: 'FILE',
    completes: 'file',
    description:
      'Write an HTML page about the run to this file, also when it failed: where every record went, when, errors with their places, the plan, and checksums of files. It needs nothing else to be read, and secrets are masked.',
  }),
  quiet: switchOption({
    description: 'No summary, no progress, and only warnings and errors in the log.',
  }),
};
export type ExecuteValues = Values<typeof EXECUTE_OPTIONS>;

/** Gives the exit code. */
export async function executePlan(
  context: CliContext,
  { plan, parts, document }: Pick<Loaded, 'plan' | 'parts' | 'document'>,
  options: ExecuteValues,
): Promise<number> {
  const { terminal, world } = context;
  const { dryRun, limit } = options;
  const replaced = limit === undefined || dryRun ? undefined : limitedOverwrite(plan, limit);
  if (replaced !== undefined) terminal.warn(replaced);
  const receipt = await receiptTarget(context, options.receipt);
  const { execute } = await import('../../engine/execute.ts');
  const { threadsToSpare } = await import('../../engine/threads/budget.ts');
  const { observed } = await import('../../features/observers.ts');
  const { createNotifier } = await import('../../features/notifications/index.ts');
  await using surroundings = await documentEnv(context, plan, options.quiet);
  const { env } = surroundings;
  using stops = listenForStop(world, 'cancel', (signal) =>
    terminal.note(`${signal}: stopping at the next page; send it again to stop at once`),
  );
  const runId = world.ids.next();
  const outcome = await execute({
    plan,
    parts,
    runId,
    clock: options.clock ?? world.clock.now(),
    signal: stops.signal,
    dryRun,
    hasReceipt: true,
    threads: options.threads ?? threadsToSpare(availableParallelism()),
    ...(await observed(plan, env, { notifier: createNotifier(env) })),
    ...(limit === undefined ? {} : { limit }),
    ...(options.quiet ? {} : { onProgress: progressLine(terminal, world.clock, plan.rows.length) }),
  });
  terminal.clearProgress();
  report(context, outcome, options);
  if (receipt !== undefined) {
    const { params } = document;
    await receipt.write({ runId, outcome, plan, params, dryRun, limit });
  }
  return exitOfRun(outcome, stops);
}

/** What is needed for it is loaded by those who want one. */
async function receiptTarget(context: CliContext, name: string | undefined) {
  if (name === undefined) return undefined;
  const { receiptFile, writeReceipt } = await import('./write-receipt.ts');
  const file = await receiptFile(context, name);
  return {
    write: (run: ReceiptOfRun): Promise<void> => writeReceipt(context, file, run),
  };
}

function report({ terminal }: CliContext, outcome: RunOutcome, options: ExecuteValues): void {
  if (options.output === 'json') terminal.json(runDocument(outcome, options));
  if (options.output === 'ndjson')
    for (const row of outcome.invocations) terminal.jsonLine(rowDocument(row));
  if (options.output === 'text' && !options.quiet) summarizeRun(terminal, outcome, options);
  else reportFailures(terminal, outcome);
}

function exitOfRun(outcome: RunOutcome, stops: Stops): number {
  if (outcome.status === 'completed') return EXIT.ok;
  const signal = stops.received();
  return outcome.status === 'cancelled' && signal !== undefined ? signalExit(signal) : EXIT.failed;
}
