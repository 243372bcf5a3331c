import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { exitWithRun } from '../remote/watch-run.ts';

const PAGE_LINES = 10_000;

export const logsCommand = defineCommand({
  name: 'logs',
  summary: 'Print the log of a run on a server.',
  description:
    'Without `--follow`, the lines that are stored. With it, all lines until the run ends; the exit code is then 1 unless the run completes. Ctrl-C ends the watching, not the run.',
  arguments: [{ name: 'id', description: 'Id of the run.' }],
  options: {
    follow: switchOption({ short: 'f', description: 'Go on until the run has ended.' }),
    ...REMOTE_OPTIONS,
  },
  examples: [{ command: 'headgate logs 0198c7… -f', description: 'Watch a run' }],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which run', 'see `headgate runs`');
    const { terminal } = context;
    return withServer(context, options, async (client) => {
      if (options.follow) {
        const { json } = options;
        return exitWithRun(context, id, { client, showsLog: true, json });
      }
      let after: number | undefined;
      for (;;) {
        const lines = await client.storedLog(id, { after, limit: PAGE_LINES });
        for (const line of lines) {
          if (options.json) terminal.jsonLine(line);
          else terminal.print('truncated' in line ? LINES_MISSING : line.line);
          if ('seq' in line) after = line.seq;
        }
        if (lines.length < PAGE_LINES) return EXIT.ok;
      }
    });
  },
});

const LINES_MISSING = '(lines were dropped: the log is longer than what is kept of one run)';
