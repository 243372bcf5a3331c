import {
  CLI_CALLER,
  ID_ARGUMENT,
  STORE_OPTIONS,
  VERSION_OPTION,
  withRegistry,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { textOption } from '../framework/option.ts';

export const templatePromoteCommand = defineCommand({
  name: 'template promote',
  summary: 'Point a channel of a template at a version.',
  description:
    'A channel keeps its version until it is pointed at another one; launching does not move it.',
  arguments: [ID_ARGUMENT],
  options: {
    tag: textOption({
      value: 'CHANNEL',
      description: 'Which one: `dev`, `test`, `staging`, `pre-prod`, `canary` or `prod`.',
    }),
    version: VERSION_OPTION('Number or channel; `stable` by default.'),
    ...STORE_OPTIONS,
  },
  examples: [
    {
      command: 'headgate template promote orders --tag prod --version canary',
      description: 'What was tried goes to everybody',
    },
  ],
  async run(context, { options, positionals: [id] }) {
    const { tag, version } = options;
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    if (tag === undefined) throw usageError('say which channel', 'for example `--tag prod`');
    const { terminal } = context;
    const result = await withRegistry(context, options, (templates) =>
      templates.tag(id, { tag, version }, CLI_CALLER),
    );
    if (options.json) terminal.json(result);
    else terminal.print(`${result.tag} of ${id} is version ${result.version}`);
    return EXIT.ok;
  },
});
