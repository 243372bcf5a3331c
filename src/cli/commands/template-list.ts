import { STORE_OPTIONS, withRegistry } from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { choiceOption } from '../framework/option.ts';
import { table } from '../render/render.ts';
import { TEMPLATE_KINDS } from '../../wire/template-kinds.ts';

export const templateListCommand = defineCommand({
  name: 'template list',
  summary: 'List templates, the newest registration first.',
  description: 'Shows the status of each, its launched version and the newest one.',
  options: {
    kind: choiceOption({
      value: 'KIND',
      choices: ['all', ...TEMPLATE_KINDS],
      default: 'all',
      description: 'Only templates of this kind.',
    }),
    ...STORE_OPTIONS,
  },
  examples: [{ command: 'headgate template list', description: 'What can be run' }],
  async run(context, { options }) {
    const { terminal } = context;
    const { kind } = options;
    const templates = await withRegistry(context, options, (registry) =>
      registry.list(kind === 'all' ? undefined : kind),
    );
    if (options.json) {
      terminal.json({ templates });
      return EXIT.ok;
    }
    const cells = templates.map(({ id, kind: one, status, stable, newest, description = '' }) => [
      id,
      one,
      status,
      stable === null ? '-' : String(stable),
      newest === null ? '-' : String(newest),
      description,
    ]);
    for (const line of table(
      ['template', 'kind', 'status', 'stable', 'newest', 'description'],
      cells,
      [3, 4],
    ))
      terminal.print(line);
    if (templates.length === 0) terminal.note('nothing is registered yet');
    return EXIT.ok;
  },
});
