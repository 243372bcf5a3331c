import { readFileSync } from 'node:fs';
import type {
  HeadgateClient,
  RunSubmitAnswer,
  RunSubmitBody,
  TemplateRunAnswer,
} from '../../client/index.ts';
import { AppError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { RUN_PRIORITIES } from '../../wire/run-priority.ts';
import { configFile } from '../framework/config-file.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import {
  choiceOption,
  integerOption,
  listOption,
  switchOption,
  textOption,
} from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { exitWithRun } from '../remote/watch-run.ts';

export const submitCommand = defineCommand({
  name: 'submit',
  summary: 'Have a server run a document.',
  description:
    'The document is sent as it is: the server reads its variables and files, and paths are those of the machine of the server. ' +
    'Without `--wait` or `--follow` the command ends when the run is queued.\n\n' +
    'Ctrl-C ends the watching, not the run.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    template: textOption({
      value: 'ID',
      description: 'Run this template of the server; no document is sent.',
    }),
    version: textOption({
      value: 'VERSION',
      description: 'Its version: number or channel; `stable` when absent.',
    }),
    param: listOption({ value: 'KEY=VALUE', description: 'Value of a parameter of the template.' }),
    name: textOption({ value: 'NAME', description: 'Name of the run, in place of its own.' }),
    label: listOption({ value: 'KEY=VALUE', description: 'Label of the run.' }),
    idempotencyKey: textOption({
      value: 'KEY',
      description: 'A second submission with this key starts no second run.',
    }),
    clock: textOption({ value: 'TIME', description: 'What `${now.*}` renders (RFC 3339).' }),
    timeoutSecs: integerOption({
      value: 'N',
      min: 1,
      description: 'The run fails when it takes longer.',
    }),
    concurrency: integerOption({
      value: 'N',
      min: 1,
      description: 'Requests or readers at the same time, for connectors that have several.',
    }),
    priority: choiceOption({
      value: 'LEVEL',
      choices: RUN_PRIORITIES,
      default: 'normal',
      description: 'Of runs that wait, those of a higher priority begin first.',
    }),
    doctorFirst: switchOption({
      description: 'Check connections first; nothing runs if one fails.',
    }),
    wait: switchOption({ description: 'Wait for the end, and exit with 1 unless it completes.' }),
    follow: switchOption({ short: 'f', description: 'Print its log, and wait for the end.' }),
    ...REMOTE_OPTIONS,
  },
  examples: [
    { command: 'headgate submit orders.yaml --follow', description: 'Run it there, watch it here' },
    {
      command: 'headgate submit --template orders --param day=2026-01-31 --wait',
      description: 'A template of the server',
    },
    {
      command: 'headgate submit orders.yaml --idempotency-key orders-2026-01-31 --json',
      description: 'From an orchestrator',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { terminal } = context;
    const settings = {
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(options.label.length === 0 ? {} : { labels: pairsOf('--label', options.label) }),
      ...(options.idempotencyKey === undefined ? {} : { idempotency_key: options.idempotencyKey }),
      ...(options.clock === undefined ? {} : { clock: options.clock }),
      ...(options.timeoutSecs === undefined ? {} : { timeout_secs: options.timeoutSecs }),
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      ...(options.priority === 'normal' ? {} : { priority: options.priority }),
      ...(options.doctorFirst ? { doctor_first: true } : {}),
    };
    const submit = submissionOf(context, config, options);
    return withServer(context, options, async (client) => {
      const receipt = await submit(client, settings);
      const waits = options.wait || options.follow;
      if (options.json && !waits) terminal.json(receipt);
      else if (!options.json) terminal.print(receipt.run_id);
      if (!waits) return EXIT.ok;
      const showsLog = options.follow;
      const { json } = options;
      return exitWithRun(context, receipt.run_id, { client, showsLog, json });
    });
  },
});

type Settings = Omit<RunSubmitBody, 'config' | 'config_format'>;
type Submit = (
  client: HeadgateClient,
  settings: Settings,
) => Promise<RunSubmitAnswer | TemplateRunAnswer>;

/** A template of the server, where one is named, or a document of ours. */
function submissionOf(
  context: CliContext,
  config: string | undefined,
  {
    template: id,
    version,
    param,
  }: { readonly template?: string; readonly version?: string; readonly param: readonly string[] },
): Submit {
  if (id !== undefined) {
    if (config !== undefined)
      throw usageError('a document and --template', 'give only one of the two');
    const chosen = {
      ...(version === undefined ? {} : { version }),
      ...(param.length === 0 ? {} : { params: pairsOf('--param', param) }),
    };
    return (client, settings) => client.runTemplate(id, { ...settings, ...chosen });
  }
  if (version !== undefined || param.length > 0)
    throw usageError('--version and --param belong to --template', 'name the template');
  const file = configFile(context, config);
  const document = {
    config: textOf(file),
    config_format: file.endsWith('.json') ? ('json' as const) : ('yaml' as const),
  };
  return (client, settings) => client.submit({ ...settings, ...document });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new AppError('no_document', `${file} cannot be read: ${fileFault(error).says}`);
  }
}

function pairsOf(option: string, pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw usageError(`${option} takes KEY=VALUE, got ${JSON.stringify(pair)}`);
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}
