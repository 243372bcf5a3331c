import {
  CLI_CALLER,
  ID_ARGUMENT,
  STORE_OPTIONS,
  VERSION_OPTION,
  withRegistry,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption, textOption } from '../framework/option.ts';

export const templateDeprecateCommand = defineCommand({
  name: 'template deprecate',
  summary: 'Advise against a template, or against one version of it.',
  description: 'It still runs, and says so; it cannot be launched.',
  arguments: [ID_ARGUMENT],
  options: {
    reason: textOption({ value: 'TEXT', description: 'Shown to everybody who runs it.' }),
    version: VERSION_OPTION('Only this version: number or channel.'),
    undo: switchOption({ description: 'Revive it.' }),
    ...STORE_OPTIONS,
  },
  examples: [
    {
      command: 'headgate template deprecate orders --reason "use orders-v2"',
      description: 'The whole template',
    },
  ],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    const { terminal } = context;
    const { reason, undo, version } = options;
    const { what, result } = await withRegistry(context, options, async (templates) => {
      if (version === undefined)
        return {
          what: id,
          result: await templates.deprecate(id, { reason, undo }, CLI_CALLER),
        };
      const one = await templates.deprecateVersion({ id, version }, { reason, undo }, CLI_CALLER);
      return { what: `${id} version ${one.version}`, result: one };
    });
    if (options.json) terminal.json(result);
    else terminal.print(`${what} is ${undo ? 'revived' : 'deprecated'}`);
    return EXIT.ok;
  },
});
