import { CLI_CALLER, STORE_OPTIONS, withRegistry } from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';

export const pushCommand = defineCommand({
  name: 'push',
  summary: 'Store a document on a server, and make it the version that runs.',
  description:
    'Registers the document as a new version of its template and launches it; nothing happens when that version is launched already. ' +
    'The id of the template is made of the name in the document, or of that of the file. A document with a `schedule` runs from now on by its schedule.',
  arguments: [
    { name: 'file', completes: 'file', description: 'The document: `.yaml`, `.yml` or `.json`.' },
  ],
  options: {
    draft: switchOption({ description: 'Register it without launching it.' }),
    ...STORE_OPTIONS,
  },
  examples: [
    {
      command: 'headgate push orders.yaml --server https://etl.example.org',
      description: 'With the token in HEADGATE_TOKEN',
    },
  ],
  async run(context, { options, positionals: [file] }) {
    if (file === undefined)
      throw usageError('say which file to push', 'for example `headgate push orders.yaml`');
    const { terminal, world } = context;
    context.setDocument(file);
    const { templateOfFile } = await import('../documents/template-folder.ts');
    const { carryOut, planDeployment } = await import('../../features/templates/deployment.ts');
    const template = templateOfFile(file, world.cwd);
    const how = { isDraft: options.draft };
    const { step, version } = await withRegistry(context, options, async (registry, signal) => {
      const [first] = await planDeployment([template], registry, how);
      if (first === undefined) throw usageError('there is nothing to push');
      return {
        step: first,
        version: await carryOut(first, registry, { caller: CLI_CALLER, signal, how }),
      };
    });
    const { id, kind } = step;
    if (options.json) terminal.json({ id, version: version ?? null, action: kind });
    else if (kind === 'same') terminal.print(`${id} version ${version} has this document already`);
    else terminal.print(`${id} version ${version} is ${how.isDraft ? 'registered' : 'launched'}`);
    return EXIT.ok;
  },
});
