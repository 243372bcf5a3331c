import { availableParallelism } from 'node:os';
import { AppError, ConfigError, messageOf } from '../../lib/errors.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';
import { defineCommand } from '../framework/command.ts';
import { documentEnv } from '../documents/document-env.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, signalExit, usageError } from '../framework/exit.ts';
import { momentOption } from '../framework/moment-option.ts';
import {
  choiceOption,
  integerOption,
  switchOption,
  textOption,
  unavailableOption,
} from '../framework/option.ts';
import { progressLine } from '../render/progress-line.ts';
import { rowDocument, runDocument, summarizeRun } from '../render/run-report.ts';
import { listenForStop, type Stops } from '../framework/signals.ts';

export const runCommand = defineCommand({
  name: 'run',
  summary: 'Run a document.',
  description:
    'Moves the records of every selected row. The summary goes to stderr; with `--output` the result goes to stdout as JSON instead.\n\n' +
    'The first Ctrl-C stops at the next page, keeps what was written and stores the bookmark; a second one ends at once.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    dryRun: switchOption({
      description: 'Read and transform, but write nothing and store no bookmark.',
    }),
    limit: integerOption({
      value: 'N',
      min: 1,
      description: 'Write at most this many records for each matrix row; no bookmark is stored.',
    }),
    clock: momentOption({ description: 'Time to use for `${now.*}`, instead of the present.' }),
    statePath: textOption({
      value: 'DIR',
      completes: 'directory',
      description: 'Folder for bookmarks, for documents without a state store.',
    }),
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
    fromEnv: switchOption({
      description:
        'Take the document from environment variables: `HEADGATE_SOURCE=csv`, `HEADGATE_SOURCE_CSV_PATH=in.csv`, `HEADGATE_SINK=jsonl`, … (or `SVC_SOURCE`, …).',
    }),
    quiet: switchOption({
      description: 'No summary, no progress, and only warnings and errors in the log.',
    }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
    source: unavailableOption('templates', 'ID'),
    sink: unavailableOption('templates', 'ID'),
    overlay: unavailableOption('templates', 'FILE'),
    tui: unavailableOption('full-screen mode'),
  },
  examples: [
    { command: 'headgate run', description: 'Run the document in this folder' },
    { command: 'headgate run orders.yaml --limit 100 --dry-run', description: 'Look first' },
    {
      command: 'headgate run orders.yaml --profile prod --param day=2026-01-31',
      description: 'With a profile and a parameter',
    },
    {
      command: 'headgate run orders.yaml --only "eu-*" --output json',
      description: 'Some rows, for a program',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { terminal, world } = context;
    if (options.fromEnv && config !== undefined)
      throw usageError('`--from-env` replaces the document: give only one of the two');
    const { plan, parts } = await loadPlan(context, {
      config,
      selection: options,
      completion: options,
      statePath: options.statePath,
      fromEnv: options.fromEnv,
    }).catch((error: unknown) => {
      printRefusal(context, error, options.output);
      throw error;
    });
    const { execute } = await import('../../engine/execute.ts');
    const { threadsToSpare } = await import('../../engine/threads/budget.ts');
    const { observed } = await import('../../features/observers.ts');
    const { createNotifier } = await import('../../features/notifications/index.ts');
    await using surroundings = await documentEnv(context, plan, options.quiet);
    const { env } = surroundings;
    using stops = listenForStop(world, 'cancel', (signal) =>
      terminal.note(`${signal}: stopping at the next page; send it again to stop at once`),
    );
    const outcome = await execute({
      plan,
      parts,
      runId: world.ids.next(),
      clock: options.clock ?? world.clock.now(),
      signal: stops.signal,
      dryRun: options.dryRun,
      threads: options.threads ?? threadsToSpare(availableParallelism()),
      ...(await observed(plan, env, { notifier: createNotifier(env) })),
      ...(options.limit === undefined ? {} : { limit: options.limit }),
      ...(options.quiet
        ? {}
        : { onProgress: progressLine(terminal, world.clock, plan.rows.length) }),
    });
    terminal.clearProgress();
    report(context, outcome, options);
    return exitOfRun(outcome, stops);
  },
});

/** A program that asked for JSON learns in JSON, too, that nothing ran. */
function printRefusal({ terminal, env }: CliContext, error: unknown, output: string): void {
  if (output === 'text') return;
  const { code, hint } = error instanceof AppError ? error : { code: 'internal' };
  const message = env.redactor.text(messageOf(error));
  const refusal = {
    status: 'failed',
    error: { code, message, ...(hint === undefined ? {} : { hint }) },
    ...(error instanceof ConfigError ? { issues: error.issues } : {}),
  };
  if (output === 'json') terminal.json(refusal);
  else terminal.jsonLine(refusal);
}

interface ReportValues {
  readonly dryRun: boolean;
  readonly limit: number | undefined;
  readonly output: 'text' | 'json' | 'ndjson';
  readonly quiet: boolean;
}

function report({ terminal }: CliContext, outcome: RunOutcome, options: ReportValues): void {
  if (options.output === 'json') terminal.json(runDocument(outcome, options));
  if (options.output === 'ndjson')
    for (const row of outcome.invocations) terminal.jsonLine(rowDocument(row));
  if (options.output === 'text' && !options.quiet) summarizeRun(terminal, outcome, options);
}

function exitOfRun(outcome: RunOutcome, stops: Stops): number {
  if (outcome.status === 'completed') return EXIT.ok;
  const signal = stops.received();
  return outcome.status === 'cancelled' && signal !== undefined ? signalExit(signal) : EXIT.failed;
}
