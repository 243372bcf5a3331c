import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';

export const cancelCommand = defineCommand({
  name: 'cancel',
  summary: 'Ask runs of a server to stop.',
  description:
    'A run stops at its next page and keeps what it has written. Runs that had ended stay as they are.',
  arguments: [{ name: 'ids', variadic: true, description: 'Ids of the runs.' }],
  options: REMOTE_OPTIONS,
  examples: [{ command: 'headgate cancel 0198c7…', description: 'One run' }],
  async run(context, { options, positionals: ids }) {
    if (ids.length === 0) throw usageError('say which run', 'see `headgate runs --status running`');
    const { terminal } = context;
    return withServer(context, options, async (client) => {
      for (const id of ids) {
        const wasRunning = await client.cancel(id);
        if (options.json) terminal.jsonLine({ run_id: id, was_running: wasRunning });
        else terminal.print(`${id} ${wasRunning ? 'was asked to stop' : 'had ended already'}`);
      }
      return EXIT.ok;
    });
  },
});
