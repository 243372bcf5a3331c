import { existsSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { count } from '../../lib/text/count.ts';
import { replaceFile } from '../documents/replace-file.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption, textOption } from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';

export const importCommand = defineCommand({
  name: 'import',
  summary: 'Write documents for what another tool moves, with how far it has come.',
  description:
    'Reads a replication of sling, a project of Meltano, or the working folder of a dlt pipeline, and writes a document for each of its moves. ' +
    'Where the tool stored how far it has come, the first run goes on there. ' +
    'What could not be carried over stands at the top of each document, and is printed. Passwords are not copied: documents name variables.',
  arguments: [
    {
      name: 'project',
      required: true,
      completes: 'file',
      description:
        'A replication of sling, a `meltano.yml` or its folder, or `~/.dlt/pipelines/NAME`.',
    },
  ],
  options: {
    output: textOption({
      short: 'o',
      value: 'DIR',
      default: '.',
      completes: 'directory',
      description: 'Folder in which the documents are written.',
    }),
    connections: textOption({
      value: 'FILE',
      completes: 'file',
      description:
        'For sling: the file that describes its connections, such as `~/.sling/env.yaml`.',
    }),
    from: textOption({
      value: 'ADDRESS',
      description:
        'For dlt, whose sources are programs: the database that is read, such as `postgres://HOST/DATABASE`.',
    }),
    to: textOption({
      value: 'ADDRESS',
      description: 'For dlt: the database that is written, where its own has no counterpart.',
    }),
    force: switchOption({ description: 'Replace files that exist.' }),
  },
  examples: [
    {
      command: 'headgate import replication.yaml --connections ~/.sling/env.yaml',
      description: 'From sling',
    },
    { command: 'headgate import meltano.yml -o documents', description: 'From Meltano' },
    {
      command: 'headgate import ~/.dlt/pipelines/shop --from postgres://db/shop',
      description: 'From dlt',
    },
  ],
  async run(context, { options, positionals: [project = ''] }) {
    const { terminal, world, env } = context;
    const { fileStem, readProject } = await import('../../features/import/read-project.ts');
    const { importedDocument, notesOf } =
      await import('../../features/import/imported-document.ts');
    const place = path.resolve(world.cwd, project);
    const found = readProject(place, { ...options, cwd: world.cwd, variables: env.variables });
    const folder = path.resolve(world.cwd, options.output);
    const about = `Imported from ${found.tool} (${path.basename(place)}).`;
    const files = found.moves.map((move) => {
      return {
        move,
        file: path.join(folder, `${fileStem(move.name)}.headgate.yaml`),
        text: importedDocument(move, about),
      };
    });
    for (const { file } of files) refuseToOverwrite(file, options.force, world.cwd);
    await makeFolder(folder);
    for (const { move, file, text } of files) {
      await replaceFile(file, text);
      terminal.note(
        `wrote ${shortPath(file, world.cwd)} with ${count(move.streams.length, 'row')}`,
      );
      for (const note of notesOf(move)) terminal.note(`  not carried over: ${note}`);
    }
    for (const note of found.notes) terminal.note(`not imported: ${note}`);
    if (files.length === 0)
      throw new AppError('bad_import', `${project} has nothing that can be imported`);
    const [first] = files;
    if (first !== undefined)
      terminal.note(
        `next: \`headgate plan ${shortPath(first.file, world.cwd)}\`; it says what would run`,
      );
    return EXIT.ok;
  },
});

function refuseToOverwrite(file: string, force: boolean, cwd: string): void {
  if (force || !existsSync(file)) return;
  throw new AppError('file_exists', `${shortPath(file, cwd)} exists and is left alone`, {
    hint: 'use `--force` to replace it, or `--output` to write into another folder',
  });
}
