import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import type { Registry } from '../../kit/parts.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption, textOption, unavailableOption } from '../framework/option.ts';
import { partNames } from '../framework/offers.ts';
import { shortPath } from '../framework/report-error.ts';
import type { CliContext } from '../framework/context.ts';
import { listenForStop } from '../framework/signals.ts';
import { replaceFile } from '../documents/replace-file.ts';
import type { StarterPart } from '../../features/starter.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';

export const initCommand = defineCommand({
  name: 'init',
  summary: 'Write a first document: from your own data, or an example.',
  description:
    'With `--from` the data is looked at (encoding, lines above the table, what stands between cells, header, types, what tells records apart), ' +
    'and a document is written that reads it, with a contract, and with what was found beside each setting; and a file of cases for `headgate test`. ' +
    'An address with a password, or the key in one, goes to `.env`, and the document only names it.\n\n' +
    'At a terminal it asks what is not given. Otherwise, and with `--source` or `--sink`, the document is an example: the default one reads a small CSV file, ' +
    'which is written too, and runs as it is; with other parts, their settings are to be replaced.',
  arguments: [
    { name: 'name', description: 'Name of the pipeline (default: as the data is called).' },
  ],
  options: {
    from: textOption({
      value: 'DATA',
      completes: 'file',
      description:
        'What to read: a file (CSV, JSON, Excel, Parquet, Avro, XML, SQLite, DuckDB), an http(s) address, or the address of a database (`postgres://`, `mysql://`, `mongodb://`).',
    }),
    to: textOption({
      value: 'PLACE',
      completes: 'file',
      description:
        'Where to write: a file (.jsonl, .csv, .parquet, .db, .duckdb), the address of a database (`postgres://`, `mysql://`), or `stdout`. Default: a file of JSON lines.',
    }),
    table: textOption({
      value: 'NAME',
      description: 'Which table or collection, where the database has several.',
    }),
    discover: switchOption({
      description: 'A row of the document for each table or collection of the database.',
    }),
    source: textOption({
      value: 'TYPE',
      offers: partNames(() => 'source'),
      defaultText: 'csv',
      description: 'Source of the example; see `headgate list`.',
    }),
    sink: textOption({
      value: 'TYPE',
      offers: partNames(() => 'sink'),
      defaultText: 'jsonl',
      description: 'Sink of the example; see `headgate list`.',
    }),
    output: textOption({
      short: 'o',
      value: 'FILE',
      default: 'headgate.yaml',
      completes: 'file',
      description: 'File to write.',
    }),
    force: switchOption({ description: 'Replace files that exist.' }),
    interactive: switchOption({ description: 'Ask, and fail where nobody can be asked.' }),
    template: unavailableOption('starter templates', 'NAME'),
    executable: unavailableOption('tap bridge', 'FILE'),
    stream: unavailableOption('tap bridge', 'NAME'),
  },
  examples: [
    { command: 'headgate init --from orders.csv', description: 'From your own file' },
    {
      command: 'headgate init --from shop.db --to all.db --discover',
      description: 'Every table of a database',
    },
    { command: 'headgate init && headgate run', description: 'From nothing to a first run' },
    {
      command: 'headgate init orders --source postgres --sink jsonl -o orders.yaml',
      description: 'An example with other parts',
    },
  ],
  async run(context, { options, positionals: [name] }) {
    const { world } = context;
    if (!/\.ya?ml$/i.test(options.output))
      throw usageError(`--output must end in .yaml or .yml, got ${JSON.stringify(options.output)}`);
    const example = options.source ?? options.sink;
    if (options.from !== undefined && example !== undefined)
      throw usageError('--from cannot be given together with --source or --sink');
    if (options.from === undefined && (options.table !== undefined || options.discover))
      throw usageError('--table and --discover need a database: name it with --from');
    const target = path.resolve(world.cwd, options.output);
    refuseToOverwrite(target, options.force, world.cwd);
    const wanted = { ...options, name, target };
    if (options.from !== undefined) return writeFrom(context, { ...wanted, from: options.from });
    if (example === undefined && (options.interactive || world.prompts !== undefined)) {
      if (world.prompts === undefined)
        throw usageError('nobody can be asked here', 'name the data with `--from`');
      const { askStart } = await import('../documents/ask-start.ts');
      const { from, ...answers } = await askStart(await world.prompts(), world.cwd);
      if (from !== undefined) return writeFrom(context, { ...wanted, ...answers, from });
    }
    return writeExample(context, wanted);
  },
});

interface Wanted {
  readonly name: string | undefined;
  /** As named, and where that is. */
  readonly output: string;
  readonly target: string;
  readonly force: boolean;
}

interface Example extends Wanted {
  readonly source: string | undefined;
  readonly sink: string | undefined;
}

async function writeExample(
  { terminal, wiring, world }: CliContext,
  { name = 'starter', output, target, force, ...types }: Example,
): Promise<number> {
  const parts = await wiring.parts();
  const source = pick(parts.sources, '--source', types.source ?? 'csv');
  const sink = pick(parts.sinks, '--sink', types.sink ?? 'jsonl');
  const { starterOf } = await import('../../features/starter.ts');
  const { document, sample } = starterOf(name, source, sink);
  const samplePath = sample === undefined ? undefined : path.join(world.cwd, sample.path);
  await makeFolder(path.dirname(target));
  if (sample !== undefined && samplePath !== undefined && (force || !existsSync(samplePath))) {
    await writeFile(samplePath, sample.text);
    terminal.note(`wrote ${sample.path}, some records to begin with`);
  }
  await writeFile(target, document);
  terminal.note(`wrote ${shortPath(target, world.cwd)}`);
  const named = namedIn(output, target, world.cwd);
  terminal.note(
    sample === undefined
      ? `next: fill in the settings, then \`headgate validate${named}\``
      : `next: \`headgate run${named}\``,
  );
  return EXIT.ok;
}

interface From extends Wanted {
  readonly from: string;
  readonly to: string | undefined;
  readonly table: string | undefined;
  readonly discover: boolean;
}

async function writeFrom(context: CliContext, wanted: From): Promise<number> {
  const { terminal, world } = context;
  const { output, target, force } = wanted;
  const { startFrom } = await import('../documents/start-from.ts');
  const { addEnvEntries, checkEnvEntries, ENV_FILE } = await import('../documents/env-entry.ts');
  using stops = listenForStop(world, 'cancel', () => {});
  const file = shortPath(target, world.cwd);
  const { document, test, variables, notes } = await startFrom(context, {
    ...wanted,
    file,
    signal: stops.signal,
  });
  const testFile = target.replace(/(\.ya?ml)$/i, '.test$1');
  if (test !== undefined) refuseToOverwrite(testFile, force, world.cwd);
  const needsEnv = checkEnvEntries(world.cwd, variables);
  await makeFolder(path.dirname(target));
  if (needsEnv) {
    await addEnvEntries(world.cwd, variables);
    terminal.note(
      `wrote ${ENV_FILE}: it holds the password or key of the address; do not commit it`,
    );
  }
  await replaceFile(target, document);
  if (test !== undefined) await replaceFile(testFile, test);
  for (const note of notes) terminal.note(note);
  terminal.note(`wrote ${file}, with what was found beside each setting`);
  if (test !== undefined)
    terminal.note(`wrote ${shortPath(testFile, world.cwd)}, cases for \`headgate test\``);
  const named = namedIn(output, target, world.cwd);
  terminal.note(`next: \`headgate preview${named}\`, then \`headgate run${named}\``);
  return EXIT.ok;
}

/** The document behind a command, where it is not the one that is found by itself. */
function namedIn(output: string, target: string, cwd: string): string {
  return output === 'headgate.yaml' ? '' : ` ${shortPath(target, cwd)}`;
}

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
