import { printRefusal } from '../framework/json-refusal.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';
import { defineCommand } from '../framework/command.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXECUTE_OPTIONS, executePlan } from '../documents/execute-plan.ts';
import type { TemplateFiles } from '../documents/composed-templates.ts';
import type { GivenDocument } from '../documents/load-plan.ts';
import type { CliContext } from '../framework/context.ts';
import { usageError } from '../framework/exit.ts';
import { switchOption, textOption, unavailableOption } from '../framework/option.ts';

export const runCommand = defineCommand({
  name: 'run',
  summary: 'Run a document.',
  description:
    'Moves the records of every selected row. The summary goes to stderr; with `--output` the result goes to stdout as JSON instead.\n\n' +
    'The first Ctrl-C stops at the next page, keeps what was written and stores the bookmark; a second one ends at once.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    ...EXECUTE_OPTIONS,
    statePath: textOption({
      value: 'DIR',
      completes: 'directory',
      description: 'Folder for bookmarks, for documents without a state store.',
    }),
    fromEnv: switchOption({
      description:
        'Take the document from environment variables: `HEADGATE_SOURCE=csv`, `HEADGATE_SOURCE_CSV_PATH=in.csv`, `HEADGATE_SINK=jsonl`, … (or `SVC_SOURCE`, …).',
    }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
    source: textOption({
      value: 'FILE',
      completes: 'file',
      description: 'A source template; with `--sink` in place of a document.',
    }),
    sink: textOption({ value: 'FILE', completes: 'file', description: 'A sink template.' }),
    overlay: textOption({
      value: 'FILE',
      completes: 'file',
      description: 'A deployment that is laid over the pair.',
    }),
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
      command: 'headgate run orders.yaml --receipt receipt.html',
      description: 'With a page to attach to a ticket',
    },
    {
      command: 'headgate run orders.yaml --only "eu-*" --output json',
      description: 'Some rows, for a program',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const loaded = await templatesOf(context, config, options)
      .then((given) =>
        loadPlan(context, {
          config,
          selection: options,
          completion: options,
          statePath: options.statePath,
          fromEnv: options.fromEnv,
          ...(given === undefined ? {} : { given }),
        }),
      )
      .catch((error: unknown) => {
        // A program that asked for JSON learns in JSON, too, that nothing ran.
        if (options.output !== 'text') printRefusal(context, error, options.output);
        throw error;
      });
    return executePlan(context, loaded, options);
  },
});

/** The document that templates make, where they are named in place of one. */
async function templatesOf(
  context: CliContext,
  config: string | undefined,
  options: TemplateFiles & { readonly fromEnv: boolean },
): Promise<GivenDocument | undefined> {
  const { source, sink, overlay, fromEnv } = options;
  const isComposed = [source, sink, overlay].some((file) => file !== undefined);
  const ways = [
    config === undefined ? undefined : 'a document',
    fromEnv ? '`--from-env`' : undefined,
    isComposed ? '`--source` and `--sink`' : undefined,
  ].filter((way) => way !== undefined);
  if (ways.length > 1) throw usageError(`${ways.join(' and ')}: give only one of the two`);
  if (!isComposed) return undefined;
  const { composeTemplates } = await import('../documents/composed-templates.ts');
  return composeTemplates(context, options);
}
