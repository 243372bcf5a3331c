import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { defineCommand } from '../framework/command.ts';
import { switchOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';

export const replicateCommand = defineCommand({
  name: 'replicate',
  summary: 'Copy a table, then everything that changes in it.',
  description:
    'Works on documents with a `replication` block. It takes the present position of the change log, reads the rows that are there with `replication.snapshot.source`, and goes on with the changes since that position, until it is stopped (`continuous: false`, `--once`: until there are none). ' +
    'Both halves pass the same stages and the same sink; rows of the snapshot join behind `cdc_unwrap`.\n\n' +
    'The state store remembers how far it has come: run it again to go on where it was stopped or killed. A snapshot whose source keeps bookmarks goes on in the middle; any other one begins again. ' +
    'A half that fails ends the command with exit code 1.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    once: switchOption({
      description:
        'End when there are no changes for as long as the source waits, also where the document says `continuous: true`.',
    }),
    restart: switchOption({
      description: 'Take the snapshot again, and read the changes from a new position.',
    }),
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate replicate orders.yaml', description: 'In a container, or under systemd' },
    {
      command: 'headgate replicate orders.yaml --once --json',
      description: 'What is there and what has changed until now, for a program',
    },
    {
      command: 'headgate replicate orders.yaml --restart',
      description: 'When the slot is gone, or the destination was emptied',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { replicate } = await import('./run-replicate.ts');
    return replicate(context, config, options);
  },
});
