import { stringifyJson } from '../../lib/text/json.ts';
import type { Inspection } from '../../wire/dlq.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { KEY_OPTIONS, keysOf, LOCATION_ARGUMENT, REASON_OPTION } from './dlq-options.ts';
import { EXIT } from '../framework/exit.ts';
import { integerOption, switchOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { definitionList } from '../render/render.ts';

const WIDTH = 100;

export const dlqInspectCommand = defineCommand({
  name: 'dlq inspect',
  summary: 'Show what a queue of dead letters holds.',
  description:
    'Counts the dead letters by reason and by kind of error, and shows the first ones. Nothing is changed.',
  arguments: [LOCATION_ARGUMENT],
  options: {
    reason: REASON_OPTION,
    limit: integerOption({ value: 'N', default: 5, description: 'Dead letters to show.' }),
    ...KEY_OPTIONS,
    json: switchOption({ description: 'Print JSON.' }),
  },
  examples: [
    {
      command: 'headgate dlq inspect rejected.jsonl --reason quality',
      description: 'Records that failed a quality check',
    },
  ],
  async run(context, { options, positionals: [location = ''] }) {
    const { inspect } = await import('../../features/dlq/inspect.ts');
    const { reason, limit } = options;
    const inspection = await inspect({
      location,
      reason,
      limit,
      keys: keysOf(context, options),
      cwd: context.world.cwd,
    });
    if (options.json) context.terminal.json(inspection);
    else printInspection(context, inspection);
    return EXIT.ok;
  },
});

function printInspection({ terminal }: CliContext, inspection: Inspection): void {
  const {
    total_envelopes: total,
    files_read: files,
    malformed,
    non_envelope: odd,
    undecryptable,
  } = inspection;
  terminal.print(`${terminal.ink('bold', count(total, 'dead letter'))} in ${count(files, 'file')}`);
  const others = [
    malformed === 0 ? [] : [`${count(malformed, 'line')} that are no JSON`],
    odd === 0 ? [] : [`${count(odd, 'line')} that are no dead letters`],
    undecryptable === 0
      ? []
      : [`${count(undecryptable, 'line')} that no key opens (see --key-env)`],
  ].flat();
  for (const other of others) terminal.print(`and ${other}`);
  for (const [title, counts] of [
    ['By reason', inspection.by_reason],
    ['By kind of error', inspection.by_error_kind],
  ] as const) {
    const entries = Object.entries(counts);
    if (entries.length === 0) continue;
    terminal.print(`\n${title}:`);
    for (const line of definitionList(
      entries.map(([name, letters]) => [name, String(letters)] as const),
      WIDTH,
    ))
      terminal.print(line);
  }
  if (inspection.sample.length > 0)
    terminal.print(
      `\nThe first ${inspection.sample.length === 1 ? 'one' : inspection.sample.length}:`,
    );
  for (const {
    reason,
    error_kind: kind,
    error_message: message,
    row,
    payload,
  } of inspection.sample) {
    terminal.print(
      `  ${reason ?? 'unknown'} · ${kind ?? 'unknown'}${row === null ? '' : ` · row ${row}`}${message === null ? '' : `: ${message}`}`,
    );
    terminal.print(`    ${stringifyJson(payload)}`);
  }
}
