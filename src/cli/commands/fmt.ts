import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { replaceFile } from '../documents/replace-file.ts';
import { defineCommand } from '../framework/command.ts';
import { configFile } from '../framework/config-file.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';

export const fmtCommand = defineCommand({
  name: 'fmt',
  summary: 'Format documents.',
  description:
    'Rewrites documents with a fixed key order and indentation. Comments stay, and the meaning never changes.',
  arguments: [
    {
      name: 'files',
      variadic: true,
      completes: 'file',
      description: 'Documents, YAML or JSON. Default: the document in the current folder.',
    },
  ],
  options: {
    check: switchOption({
      conflicts: ['stdout'],
      description: 'Change nothing; exit with 1 when a file is not formatted.',
    }),
    stdout: switchOption({ description: 'Print the formatted text instead of writing the file.' }),
  },
  examples: [{ command: 'headgate fmt --check *.yaml', description: 'In CI' }],
  async run(context, { options, positionals }) {
    const { terminal, world } = context;
    const files =
      positionals.length > 0
        ? positionals.map((file) => path.resolve(world.cwd, file))
        : [configFile(context, undefined)];
    let unformatted = 0;
    for (const file of files) {
      const text = await readText(file, world.cwd);
      const formatted = await formatText(text, file);
      if (options.stdout) terminal.data(formatted);
      else if (formatted !== text) {
        unformatted += 1;
        if (!options.check) await replaceFile(file, formatted);
        terminal.note(
          `${options.check ? 'not formatted: ' : 'formatted '}${shortPath(file, world.cwd)}`,
        );
      }
    }
    return options.check && unformatted > 0 ? EXIT.failed : EXIT.ok;
  },
});

async function formatText(text: string, file: string): Promise<string> {
  const { formatJson, formatYaml } = await import('../documents/format-document.ts');
  const extension = path.extname(file).toLowerCase();
  if (extension === '.json') return formatJson(text, file);
  if (extension === '.yaml' || extension === '.yml') return formatYaml(text, file);
  throw usageError(`${file} is not a document: it must end in .yaml, .yml or .json`);
}

async function readText(file: string, cwd: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const why = fileFault(error).says;
    throw new AppError('file_unreadable', `${shortPath(file, cwd)} cannot be read: ${why}`);
  });
}
