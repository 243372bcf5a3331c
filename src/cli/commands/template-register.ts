import { readTemplateFile } from '../documents/template-file.ts';
import { CLI_CALLER, STORE_OPTIONS, withRegistry } from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { listOption, switchOption, textOption } from '../framework/option.ts';

export const templateRegisterCommand = defineCommand({
  name: 'template register',
  summary: 'Register a version of a template.',
  description:
    'Checks the document with placeholders for its parameters and stores the file as it is: no variable, file or secret is read. ' +
    'Whoever runs the template stays on the version that is launched.',
  arguments: [
    { name: 'file', completes: 'file', description: 'The document: `.yaml`, `.yml` or `.json`.' },
  ],
  options: {
    id: textOption({ value: 'ID', description: 'By default made of the name in the document.' }),
    tag: listOption({
      value: 'CHANNEL',
      description: 'Point this channel at the new version, for example `dev`.',
    }),
    description: textOption({ value: 'TEXT', description: 'What it is for.' }),
    launch: switchOption({ description: 'Make the new version the stable one.' }),
    ...STORE_OPTIONS,
  },
  examples: [
    { command: 'headgate template register orders.yaml', description: 'A draft' },
    {
      command: 'headgate template register orders.yaml --launch --tag prod',
      description: 'For everybody, at once',
    },
  ],
  async run(context, { options, positionals: [file] }) {
    if (file === undefined)
      throw usageError(
        'say which file to register',
        'for example `headgate template register orders.yaml`',
      );
    const { terminal, world } = context;
    context.setDocument(file);
    const { body, format } = readTemplateFile(file, world.cwd);
    const { id, tag: tags, description, launch } = options;
    const summary = await withRegistry(context, options, (templates, signal) =>
      templates.register(
        {
          id,
          tags: [...tags],
          description,
          launch,
          config: body,
          config_format: format,
        },
        CLI_CALLER,
        signal,
      ),
    );
    if (options.json) terminal.json(summary);
    else
      terminal.print(
        `${summary.id} version ${summary.version} is registered${launch ? ' and launched' : `; status: ${summary.status}`}`,
      );
    return EXIT.ok;
  },
});
