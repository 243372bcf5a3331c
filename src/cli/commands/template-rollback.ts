import {
  CLI_CALLER,
  ID_ARGUMENT,
  STORE_OPTIONS,
  withRegistry,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';

export const templateRollbackCommand = defineCommand({
  name: 'template rollback',
  summary: 'Launch the previous version of a template again.',
  description:
    'Whoever names no version runs the one that was launched before. A second rollback goes back again.',
  arguments: [ID_ARGUMENT],
  options: STORE_OPTIONS,
  examples: [{ command: 'headgate template rollback orders', description: 'Back to the last one' }],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    const { terminal } = context;
    const result = await withRegistry(context, options, (templates) =>
      templates.rollBack(id, CLI_CALLER),
    );
    if (options.json) terminal.json(result);
    else terminal.print(`${id} version ${result.version} is launched again`);
    return EXIT.ok;
  },
});
