import type { ReplayReport } from '../../wire/dlq.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { KEY_OPTIONS, keysOf, REASON_OPTION } from './dlq-options.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT, signalExit, usageError } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { switchOption, textOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { reportFailure } from '../render/run-report.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';

export const dlqReplayCommand = defineCommand({
  name: 'dlq replay',
  summary: 'Send dead letters through a document again.',
  description:
    'The payload of each dead letter passes the transforms, masking, quality checks and contract of a matrix row and is written to its sink. Records that fail again go to a separate queue, never back to the first one. The dead letters stay where they are: `headgate dlq discard` removes them.\n\n' +
    'Payloads were stored after transforms and masking. Where these must not be applied twice (a hash would be hashed again), `--as-written` skips both.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    from: textOption({
      value: 'LOCATION',
      completes: 'file',
      description: 'A file of dead letters, a folder of `.jsonl` files, or a glob in quotes.',
    }),
    reason: REASON_OPTION,
    row: textOption({
      value: 'ID',
      offers: rowIds,
      description:
        'The root row to replay them through (default: the first). Dead letters of other rows are skipped.',
    }),
    failedDlq: textOption({
      value: 'FILE',
      completes: 'file',
      description:
        'File for records that fail again (default: `<name>.replay-failed.jsonl` beside the dead letters).',
    }),
    asWritten: switchOption({ description: 'Skip transforms and masking.' }),
    dryRun: switchOption({ description: 'Count the dead letters and write nothing.' }),
    ...KEY_OPTIONS,
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    {
      command: 'headgate dlq replay orders.yaml --from rejected.jsonl --reason quality',
      description: 'After the checks were corrected',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { from, reason, row, failedDlq, asWritten, dryRun } = options;
    if (from === undefined)
      throw usageError('`--from` is missing', 'name the dead letters: `--from rejected.jsonl`');
    const keys = keysOf(context, options);
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan, parts } = await loadPlan(context, { config, completion: options });
    const { replay } = await import('../../features/dlq/replay.ts');
    const { env, terminal, world } = context;
    using stops = listenForStop(world, 'cancel', (signal) =>
      terminal.note(`${signal}: stopping at the next page; send it again to stop at once`),
    );
    const { report, failedAgain, error } = await replay({
      plan,
      parts,
      env,
      signal: stops.signal,
      from,
      reason,
      row,
      failedDlq,
      dryRun,
      asWritten,
      keys,
    });
    if (options.json) terminal.json(report);
    else printReport(context, report, failedAgain);
    if (error === null) return EXIT.ok;
    reportFailure(terminal, error);
    const signal = stops.received();
    return signal === undefined ? EXIT.failed : signalExit(signal);
  },
});

function printReport(
  { terminal }: CliContext,
  {
    candidates,
    records_written: written,
    failed_dlq: failed,
    dry_run: dry,
    passed_over: passed,
  }: ReplayReport,
  again: number,
): void {
  if (dry) terminal.print(`${count(candidates, 'dead letter')} would be replayed`);
  else
    terminal.print(
      `${count(candidates, 'dead letter')} replayed, ${count(written, 'record')} written`,
    );
  if (passed !== undefined) {
    const {
      other_rows: others,
      malformed,
      non_envelope: odd,
      undecryptable: shut,
      unread = 0,
    } = passed;
    const kinds = [
      others === 0 ? [] : [`${count(others, 'dead letter')} of other rows (see --row)`],
      malformed + odd === 0 ? [] : [`${count(malformed + odd, 'line')} that are not dead letters`],
      shut === 0 ? [] : [`${count(shut, 'line')} that no key decrypts (see --key-env)`],
      unread === 0
        ? []
        : [
            `${count(unread, 'dead letter')} of records that cannot be read (correct them in \`payload\`, or correct the source and run again)`,
          ],
    ];
    terminal.print(`skipped: ${kinds.flat().join(', ')}`);
  }
  if (again > 0) terminal.print(`${count(again, 'record')} failed again: ${failed}`);
}
