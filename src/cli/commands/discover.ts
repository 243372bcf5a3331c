import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Discovered } from '../../kit/source.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { AppError } from '../../lib/errors.ts';
import { count } from '../../lib/text/count.ts';
import { isObject } from '../../lib/text/json.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { replaceFile } from '../documents/replace-file.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, signalExit, usageError } from '../framework/exit.ts';
import { listOption, switchOption, textOption } from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';
import { table } from '../render/render.ts';

export const discoverCommand = defineCommand({
  name: 'discover',
  summary:
    'List the tables, collections or files of a source, and write a document that moves all.',
  description:
    'Asks the source of the document which data sets it has; what names one of them, like `query`, may be left out. ' +
    'With `--output` the document is written with a row for each: its comments, tokens and other settings stay as they are, and rows it had are replaced.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    source: textOption({
      value: 'NAME',
      description: 'Which of `pipeline.sources`, where the document has several.',
    }),
    include: listOption({
      value: 'PATTERN',
      description: 'Only data sets of such a name; `*` stands for any text.',
    }),
    exclude: listOption({
      value: 'PATTERN',
      description: 'None of such a name; `*` stands for any text.',
    }),
    output: textOption({
      short: 'o',
      value: 'FILE',
      completes: 'file',
      description: 'Write a document with one row for each data set.',
    }),
    force: switchOption({ description: 'Replace the file where it exists.' }),
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate discover shop.yaml', description: 'What is there' },
    {
      command: "headgate discover shop.yaml --include 'public.*' -o all.yaml",
      description: 'A document that moves every table',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { world, env, terminal } = context;
    const target =
      options.output === undefined ? undefined : path.resolve(world.cwd, options.output);
    if (target !== undefined) refuseTarget(target, options.force, world.cwd);
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { onlySource } = await import('../../features/discovery/only-source.ts');
    const { file, plan, parts } = await loadPlan(context, {
      config,
      completion: options,
      adapt: (document, known) => onlySource(document, known, options.source),
    });
    const { discover } = await import('../../engine/discovery/discover.ts');
    using stops = listenForStop(world, 'cancel', () => {});
    const { include, exclude } = options;
    const clock = world.clock.now();
    const found = await discover({
      plan,
      parts,
      env,
      clock,
      signal: stops.signal,
      include,
      exclude,
    });
    if (options.json) terminal.json(found);
    else if (target === undefined) printList(context, found);
    if (target !== undefined)
      await writeRows(context, { file, target, found, preset: options.source });
    const signal = stops.received();
    return signal === undefined ? EXIT.ok : signalExit(signal);
  },
});

function refuseTarget(target: string, force: boolean, cwd: string): void {
  if (!/\.(ya?ml|json)$/i.test(target))
    throw usageError('--output must end in .yaml, .yml or .json');
  if (force || !existsSync(target)) return;
  throw new AppError('file_exists', `${shortPath(target, cwd)} exists and is left alone`, {
    hint: 'use `--force` to replace it',
  });
}

function printList({ terminal }: CliContext, found: readonly Discovered[]): void {
  const rows = found.map(({ name, kind, estimated_rows: estimate, schema }) => [
    name,
    kind,
    estimate === undefined ? '' : String(estimate),
    isObject(schema?.['properties']) ? String(Object.keys(schema['properties']).length) : '',
  ]);
  for (const line of table(['name', 'kind', 'rows (estimate)', 'fields'], rows, [2, 3]))
    terminal.print(line);
  terminal.note(`${count(found.length, 'data set')} found`);
}

interface Writing {
  readonly file: string;
  readonly target: string;
  readonly found: readonly Discovered[];
  readonly preset: string | undefined;
}

async function writeRows(
  { terminal, world }: CliContext,
  { file, target, found, preset }: Writing,
): Promise<void> {
  if (found.length === 0)
    throw new AppError('missing', 'the source has no data set of such a name: nothing is written');
  const isJson = (name: string): boolean => name.toLowerCase().endsWith('.json');
  if (isJson(file) !== isJson(target))
    throw usageError('--output must be of the format of the document: YAML or JSON');
  const { rowsDocument } = await import('../documents/rows-document.ts');
  const text = await readFile(file, 'utf8');
  const format = isJson(file) ? 'json' : 'yaml';
  const written = rowsDocument({ text, format, found, preset });
  await makeFolder(path.dirname(target));
  await replaceFile(target, written);
  const name = shortPath(target, world.cwd);
  terminal.note(`wrote ${name} with ${count(found.length, 'row')}`);
  terminal.note(`next: \`headgate validate ${name}\``);
}
