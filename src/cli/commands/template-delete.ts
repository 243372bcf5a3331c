import {
  CLI_CALLER,
  ID_ARGUMENT,
  STORE_OPTIONS,
  VERSION_OPTION,
  withRegistry,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';

export const templateDeleteCommand = defineCommand({
  name: 'template delete',
  summary: 'Delete a template, or one version of it.',
  description:
    'A deleted version loses its channels and launches. Runs that were made from it stay as they are.',
  arguments: [ID_ARGUMENT],
  options: {
    version: VERSION_OPTION('Only this version: number or channel.'),
    ...STORE_OPTIONS,
  },
  examples: [
    { command: 'headgate template delete orders --version 3', description: 'One version' },
  ],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    const { terminal } = context;
    const { version } = options;
    await withRegistry(context, options, (templates) => templates.delete(id, version, CLI_CALLER));
    if (options.json) terminal.json({ id, ...(version === undefined ? {} : { version }) });
    else
      terminal.print(version === undefined ? `${id} is deleted` : `${version} of ${id} is deleted`);
    return EXIT.ok;
  },
});
