import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import type { Registry } from '../../kit/parts.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption, textOption, unavailableOption } from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';
import type { StarterPart } from '../../features/starter.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';

export const initCommand = defineCommand({
  name: 'init',
  summary: 'Write a first document.',
  description:
    'Writes a commented document to start from. The default one reads a small CSV file, which is written too, and runs as it is.\n\n' +
    'With other parts, their settings are examples to be replaced.',
  arguments: [{ name: 'name', description: 'Name of the pipeline (default: starter).' }],
  options: {
    source: textOption({
      value: 'TYPE',
      default: 'csv',
      description: 'Source to read from; see `headgate list`.',
    }),
    sink: textOption({
      value: 'TYPE',
      default: 'jsonl',
      description: 'Sink to write to; see `headgate list`.',
    }),
    output: textOption({
      short: 'o',
      value: 'FILE',
      default: 'headgate.yaml',
      completes: 'file',
      description: 'File to write.',
    }),
    force: switchOption({ description: 'Replace files that exist.' }),
    template: unavailableOption('starter templates', 'NAME'),
    interactive: unavailableOption('interactive mode'),
    discover: unavailableOption('discovery'),
    executable: unavailableOption('tap bridge', 'FILE'),
    stream: unavailableOption('tap bridge', 'NAME'),
  },
  examples: [
    { command: 'headgate init && headgate run', description: 'From nothing to a first run' },
    {
      command: 'headgate init orders --source postgres --sink jsonl -o orders.yaml',
      description: 'Start from other parts',
    },
  ],
  async run({ terminal, wiring, world }, { options, positionals: [name = 'starter'] }) {
    if (!/\.ya?ml$/i.test(options.output))
      throw usageError(`--output must end in .yaml or .yml, got ${JSON.stringify(options.output)}`);
    const parts = await wiring.parts();
    const source = pick(parts.sources, '--source', options.source);
    const sink = pick(parts.sinks, '--sink', options.sink);
    const { starterOf } = await import('../../features/starter.ts');
    const { document, sample } = starterOf(name, source, sink);
    const target = path.resolve(world.cwd, options.output);
    const samplePath = sample === undefined ? undefined : path.join(world.cwd, sample.path);
    refuseToOverwrite(target, options.force, world.cwd);
    await makeFolder(path.dirname(target));
    if (
      sample !== undefined &&
      samplePath !== undefined &&
      (options.force || !existsSync(samplePath))
    ) {
      await writeFile(samplePath, sample.text);
      terminal.note(`wrote ${sample.path}, some records to begin with`);
    }
    await writeFile(target, document);
    terminal.note(`wrote ${shortPath(target, world.cwd)}`);
    const named = options.output === 'headgate.yaml' ? '' : ` ${shortPath(target, world.cwd)}`;
    terminal.note(
      sample === undefined
        ? `next: fill in the settings, then \`headgate validate${named}\``
        : `next: \`headgate run${named}\``,
    );
    return EXIT.ok;
  },
});

function pick<D extends StarterPart>(registry: Registry<D>, flag: string, type: string): D {
  const found = registry.get(type);
  if (found === undefined)
    throw usageError(`${flag}: there is no \`${type}\``, registry.suggest(type));
  return found;
}

function refuseToOverwrite(file: string, force: boolean, cwd: string): void {
  if (force || !existsSync(file)) return;
  throw new AppError('file_exists', `${shortPath(file, cwd)} exists and is left alone`, {
    hint: 'use `--force` to replace it, or `--output` to write another file',
  });
}
