import { readFileSync } from 'node:fs';
import { AppError, messageOf } from '../../lib/errors.ts';
import { configFile } from '../framework/config-file.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { integerOption, listOption, switchOption, textOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { exitOfRun, runLine, watchRun } from '../remote/watch-run.ts';

export const submitCommand = defineCommand({
  name: 'submit',
  summary: 'Have a server run a document.',
  description:
    'The document is sent as it is: the server reads its variables and files, and paths are those of the machine of the server. ' +
    'Without `--wait` or `--follow` the command ends when the run is queued.\n\n' +
    'Ctrl-C ends the watching, not the run.',
  arguments: [CONFIG_ARGUMENT],
  options: {
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
      command: 'headgate submit orders.yaml --idempotency-key orders-2026-01-31 --json',
      description: 'From an orchestrator',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { terminal } = context;
    const file = configFile(context, config);
    const submission = {
      config: textOf(file),
      config_format: file.endsWith('.json') ? ('json' as const) : ('yaml' as const),
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(options.label.length === 0 ? {} : { labels: labelsOf(options.label) }),
      ...(options.idempotencyKey === undefined ? {} : { idempotency_key: options.idempotencyKey }),
      ...(options.clock === undefined ? {} : { clock: options.clock }),
      ...(options.timeoutSecs === undefined ? {} : { timeout_secs: options.timeoutSecs }),
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      ...(options.doctorFirst ? { doctor_first: true } : {}),
    };
    return withServer(context, options, async (client) => {
      const receipt = await client.submit(submission);
      const waits = options.wait || options.follow;
      if (options.json && !waits) terminal.json(receipt);
      else if (!options.json) terminal.print(receipt.run_id);
      if (!waits) return EXIT.ok;
      const showsLog = options.follow;
      const run = await watchRun(context, receipt.run_id, { client, showsLog });
      if (run === undefined) return EXIT.interrupted;
      if (options.json) terminal.json(run);
      else terminal.note(runLine(run));
      return exitOfRun(run);
    });
  },
});

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new AppError('no_document', `${file} cannot be read: ${messageOf(error)}`);
  }
}

function labelsOf(labels: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    labels.map((label) => {
      const equals = label.indexOf('=');
      if (equals < 1) throw usageError(`--label takes KEY=VALUE, got ${JSON.stringify(label)}`);
      return [label.slice(0, equals), label.slice(equals + 1)];
    }),
  );
}
