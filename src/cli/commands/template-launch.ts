import {
  CLI_CALLER,
  ID_ARGUMENT,
  STORE_OPTIONS,
  VERSION_OPTION,
  withRegistry,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';

export const templateLaunchCommand = defineCommand({
  name: 'template launch',
  summary: 'Make a version of a template the stable one.',
  description:
    'Whoever names no version runs this one from now on. The one before can be launched again with `template rollback`.',
  arguments: [ID_ARGUMENT],
  options: {
    version: VERSION_OPTION('Number or channel; `newest` by default.'),
    ...STORE_OPTIONS,
  },
  examples: [{ command: 'headgate template launch orders', description: 'The newest version' }],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    const { terminal } = context;
    const result = await withRegistry(context, options, (templates) =>
      templates.launch(id, options.version, CLI_CALLER),
    );
    if (options.json) terminal.json(result);
    else if (result.already_launched)
      terminal.print(`${id} version ${result.version} was launched already`);
    else
      terminal.print(
        `${id} version ${result.version} is launched${result.replaced === undefined ? '' : ` in place of version ${result.replaced}`}`,
      );
    return EXIT.ok;
  },
});
