/** The reference page of the command line, in Markdown, made from the command data. */
import { shownOptions, type Command } from './command.ts';
import { SHARED_OPTIONS } from './shared-options.ts';
import { EXIT } from './exit.ts';
import { argumentText, optionText, usageOf } from './help.ts';
import type { Option, Options } from './option.ts';

export function cliReference(commands: readonly Command[]): string {
  const sections = [
    '# The command line',
    'Data and JSON go to stdout, everything else to stderr. `--help` explains a command on the spot.',
    '## Common options',
    optionTable(SHARED_OPTIONS),
    '## Exit codes',
    exitTable(),
    ...commands.flatMap(commandSection),
  ];
  return `${sections.join('\n\n')}\n`;
}

function commandSection(command: Command): string[] {
  const named = command.arguments ?? [];
  return [
    `## ${command.name}`,
    command.description,
    fence([usageOf(command)]),
    ...(named.length === 0 ? [] : [named.map((argument) => `- \`${argumentText(argument)}\`: ${argument.description}`).join('\n')]),
    ...(shownOptions(command.options).length === 0 ? [] : [optionTable(command.options)]),
    ...command.examples.map((example) => `${example.description}:\n\n${fence([example.command])}`),
  ];
}

function optionTable(options: Options): string {
  const rows = shownOptions(options).map(
    ([key, option]) => `| \`${optionText(key, option)}\` | ${cell(option.env, true)} | ${cell(option.defaultText)} | ${about(option)} |`,
  );
  return ['| option | variable | default | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function about(option: Option<unknown>): string {
  const notes = [
    option.choices === undefined ? '' : ` One of ${option.choices.map((choice) => `\`${choice}\``).join(', ')}.`,
    option.repeatable === true ? ' Repeatable.' : '',
  ];
  return option.description.replaceAll('|', '\\|') + notes.join('');
}

function cell(text: string | undefined, code = false): string {
  if (text === undefined) return '';
  return code ? `\`${text}\`` : text;
}

function exitTable(): string {
  const rows: readonly (readonly [number, string])[] = [
    [EXIT.ok, 'everything went well'],
    [EXIT.failed, 'the document, the run or the command failed; `fmt --check` has something to do'],
    [EXIT.usage, 'the command line cannot be understood, or asks for something this version does not have'],
    [EXIT.interrupted, 'stopped by SIGINT'],
    [EXIT.terminated, 'stopped by SIGTERM'],
  ];
  const counted = '| n | `doctor`: the number of failed probes or lint errors, at most 255 |';
  return ['| code | when |', '|---|---|', ...rows.map(([code, when]) => `| ${code} | ${when} |`), counted].join('\n');
}

function fence(lines: readonly string[]): string {
  return ['```sh', ...lines, '```'].join('\n');
}
