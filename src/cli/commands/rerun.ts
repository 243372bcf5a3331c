import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption, textOption } from '../framework/option.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { exitWithRun } from '../remote/watch-run.ts';

export const rerunCommand = defineCommand({
  name: 'rerun',
  summary: 'Run an ended run of a server again.',
  description:
    'The same document with the same parameters. Sources begin where the run began, unless `--from-bookmark` or `--from-start` says otherwise.',
  arguments: [{ name: 'id', description: 'Id of the run.' }],
  options: {
    clock: textOption({
      value: 'TIME',
      default: 'same',
      description: 'What `${now.*}` renders: `same`, `now`, or a time (RFC 3339).',
    }),
    fromBookmark: switchOption({
      conflicts: ['fromStart'],
      description: 'Sources begin at the stored bookmark.',
    }),
    fromStart: switchOption({ description: 'Sources begin at the start.' }),
    follow: switchOption({ short: 'f', description: 'Print its log, and wait for the end.' }),
    ...REMOTE_OPTIONS,
  },
  examples: [{ command: 'headgate rerun 0198c7… --clock now', description: 'As if it were today' }],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which run', 'see `headgate runs`');
    const { terminal } = context;
    return withServer(context, options, async (client) => {
      const receipt = await client.rerun(id, {
        clock: options.clock,
        ...(options.fromBookmark ? { from: 'bookmark' as const } : {}),
        ...(options.fromStart ? { from: 'start' as const } : {}),
      });
      if (!options.json) terminal.print(receipt.run_id);
      else if (!options.follow) terminal.json(receipt);
      if (!options.follow) return EXIT.ok;
      const { json } = options;
      return exitWithRun(context, receipt.run_id, { client, showsLog: true, json });
    });
  },
});
