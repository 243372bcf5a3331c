import { defineCommand } from '../framework/command.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { integerOption, switchOption, textOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';

export const backfillCommand = defineCommand({
  name: 'backfill',
  summary: 'Run a range of the past again, window by window.',
  description:
    'Cuts the range into windows and runs the document once for each, with `${backfill.start}`, `${backfill.end}` and their like filled in; `${now.*}` is the start of the window. ' +
    'Each window has a bookmark of its own: that of the ordinary runs stays as it is.\n\n' +
    'Which windows are done is remembered in the state store. What was stopped or failed goes on with `--resume`. ' +
    'The exit code is the number of windows that failed, 255 at most.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    from: textOption({
      value: 'TIME',
      description: 'Where the range begins: RFC 3339, or a date for its midnight in the time zone.',
    }),
    to: textOption({ value: 'TIME', description: 'Where the range ends; not part of it.' }),
    window: textOption({
      value: 'SIZE',
      description:
        'What one unit covers, e.g. `6h`, `1d`, `1w` (default: that of the document, or the whole range).',
    }),
    timezone: textOption({
      value: 'NAME',
      description:
        'IANA name of the zone in which days begin (default: that of the document, or UTC).',
    }),
    concurrency: integerOption({
      value: 'N',
      min: 1,
      description: 'Units that run at the same time (default: that of the document, or 1).',
    }),
    row: textOption({
      value: 'ID',
      description:
        'The row to run again, where several read by themselves; those that run for its records come along.',
    }),
    into: textOption({
      value: 'NAME',
      description: 'Write into this sink template instead of that of the row.',
    }),
    resume: switchOption({
      description:
        'Go on with a backfill that was stopped or failed: what is done is not run again.',
    }),
    restart: switchOption({ description: 'Run a backfill again from its beginning.' }),
    fromBookmark: textOption({
      value: 'JSON',
      description: 'Instead of a time: the bookmark after which the source begins. Needs `state`.',
    }),
    toBookmark: textOption({
      value: 'JSON',
      description: 'Drop records beyond this value of `--bookmark-field`.',
    }),
    bookmarkField: textOption({
      value: 'PATH',
      description: 'Field of the records that is compared with `--to-bookmark`.',
    }),
    dryRun: switchOption({
      description: 'Say which units there are and which of them are done; run none.',
    }),
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    {
      command: 'headgate backfill orders.yaml --from 2026-01-01 --to 2026-02-01 --dry-run',
      description: 'Look first',
    },
    {
      command:
        'headgate backfill orders.yaml --from 2026-01-01 --to 2026-02-01 --window 1d --concurrency 4',
      description: 'A month, by the day',
    },
    {
      command: 'headgate backfill orders.yaml --from 2026-01-01 --to 2026-02-01 --resume',
      description: 'What is left of it',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { backfill } = await import('./run-backfill.ts');
    return backfill(context, config, options);
  },
});
