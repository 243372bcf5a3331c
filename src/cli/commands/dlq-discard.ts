import { defineCommand } from '../framework/command.ts';
import {
  BEFORE_OPTION,
  KEY_OPTIONS,
  keysOf,
  LOCATION_ARGUMENT,
  REASON_OPTION,
} from './dlq-options.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';

export const dlqDiscardCommand = defineCommand({
  name: 'dlq discard',
  summary: 'Remove dead letters from their queue.',
  description:
    'Dead letters that match move to `<name>.archived.jsonl` beside their file, or are deleted with `--delete`. All other lines stay as they are, also lines that are not dead letters.\n\nDo not discard from a queue while a run writes to it.',
  arguments: [LOCATION_ARGUMENT],
  options: {
    reason: REASON_OPTION,
    before: BEFORE_OPTION,
    delete: switchOption({ description: 'Delete them instead of archiving.' }),
    ...KEY_OPTIONS,
    json: switchOption({ description: 'Print JSON.' }),
  },
  examples: [
    {
      command: 'headgate dlq discard rejected.jsonl --reason quality',
      description: 'After they were replayed',
    },
    {
      command: 'headgate dlq discard rejected.jsonl --before 30d --delete',
      description: 'Delete old ones',
    },
  ],
  async run(context, { options, positionals: [location = ''] }) {
    const { purge } = await import('../../features/dlq/purge.ts');
    const { terminal, world } = context;
    const filter = { reason: options.reason, beforeMs: options.before?.(world.clock.now()) };
    const report = await purge({
      location,
      filter,
      delete: options.delete,
      keys: keysOf(context, options),
      cwd: world.cwd,
    });
    if (options.json) terminal.json(report);
    else {
      terminal.print(
        `${count(report.discarded, 'dead letter')} ${options.delete ? 'deleted' : 'archived'}`,
      );
      for (const archive of report.archived_to) terminal.print(`  ${archive}`);
    }
    return EXIT.ok;
  },
});
