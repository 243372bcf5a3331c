import { defineCommand } from '../framework/command.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { rowIds } from '../framework/offers.ts';
import { integerOption, switchOption, textOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';

export const backfillCommand = defineCommand({
  name: 'backfill',
  summary: 'Run a past time range again, window by window.',
  description:
    'Splits a past time range into windows and runs the document once for each window. The tokens `${backfill.start}` and `${backfill.end}` hold its bounds, and `${now.*}` its start. ' +
    'Each window has its own bookmark; the bookmark of ordinary runs does not change.\n\n' +
    'The state store remembers which windows are done; `--resume` continues after a stop or a failure. ' +
    'The exit code is the number of windows that failed, 255 at most.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    from: textOption({
      value: 'TIME',
      description:
        'Start of the range: an RFC 3339 time, or a date, which means midnight in the time zone.',
    }),
    to: textOption({ value: 'TIME', description: 'End of the range (exclusive).' }),
    window: textOption({
      value: 'SIZE',
      description:
        'Length of one window, e.g. `6h`, `1d`, `1w` (default: from the document, else the whole range).',
    }),
    timezone: textOption({
      value: 'NAME',
      description: 'IANA time zone in which days begin (default: from the document, else UTC).',
    }),
    concurrency: integerOption({
      value: 'N',
      min: 1,
      description: 'Windows that run at the same time (default: from the document, else 1).',
    }),
    row: textOption({
      value: 'ID',
      offers: rowIds,
      description:
        'The matrix row to run again, where the document has several root rows; rows that depend on its records run too.',
    }),
    into: textOption({
      value: 'NAME',
      description: 'Write into this named sink instead of the sink of the row.',
    }),
    resume: switchOption({
      description:
        'Continue a backfill that was stopped or failed, without repeating finished windows.',
    }),
    restart: switchOption({
      conflicts: ['resume'],
      description: 'Start the backfill again from its first window.',
    }),
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
      description: 'List the windows and which of them are done; run nothing.',
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
