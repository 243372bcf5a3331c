import {
  ID_ARGUMENT,
  STORE_OPTIONS,
  VERSION_OPTION,
  withRegistry,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';

export const templateShowCommand = defineCommand({
  name: 'template show',
  summary: 'Print one version of a template.',
  description:
    'The document goes to stdout as it was registered, and what is known of it to stderr.',
  arguments: [ID_ARGUMENT],
  options: {
    version: VERSION_OPTION('Number or channel; `stable` by default, `newest` shows a draft.'),
    ...STORE_OPTIONS,
  },
  examples: [
    { command: 'headgate template show orders --version newest', description: 'The last draft' },
  ],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    const { terminal } = context;
    const detail = await withRegistry(context, options, (templates) =>
      templates.get(id, options.version),
    );
    if (options.json) {
      terminal.json(detail);
      return EXIT.ok;
    }
    const { version, status, stable, newest, tags } = detail;
    const channels = Object.entries(tags).map(([tag, tagged]) => `${tag} ${tagged}`);
    terminal.note(
      `${id} version ${version} (${[status, `stable ${stable ?? '-'}`, `newest ${newest ?? '-'}`, ...channels].join(', ')})`,
    );
    terminal.print(detail.body.trimEnd());
    return EXIT.ok;
  },
});
