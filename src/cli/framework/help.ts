/** Help texts, made from the command data. */
import { shownOptions, type ArgumentDefinition, type Command } from './command.ts';
import { SHARED_OPTIONS } from './shared-options.ts';
import { flagOf, type Option, type Options } from './option.ts';
import { definitionList, wrap } from '../render/render.ts';

const WIDTH = 100;

/** How headings look; plain text by default. */
export type Heading = (text: string) => string;

export function overview(commands: readonly Command[], heading: Heading = String): string {
  return [
    'Headgate moves data under control: one document says what moves, how it is checked, and what is promised.',
    '',
    `${heading('Usage:')} headgate <command> [options]`,
    '',
    heading('Commands:'),
    ...definitionList(
      commands.map((command) => [command.name, command.summary] as const),
      WIDTH,
    ),
    '',
    heading('Options:'),
    ...optionLines(SHARED_OPTIONS, [
      ['-h, --help', 'Help, for everything or for one command.'],
      ['-V, --version', 'The version.'],
    ]),
    '',
    'Start with `headgate init`, then `headgate run`. Each command explains itself: `headgate run --help`.',
  ].join('\n');
}

export function commandHelp(command: Command, heading: Heading = String): string {
  const named = command.arguments ?? [];
  const sections = [
    command.description
      .split('\n\n')
      .flatMap((paragraph, index) => [...(index === 0 ? [] : ['']), ...wrap(paragraph, WIDTH)]),
    [`${heading('Usage:')} ${usageOf(command)}`],
    named.length === 0
      ? []
      : [
          heading('Arguments:'),
          ...definitionList(
            named.map((argument) => [argumentText(argument), argument.description] as const),
            WIDTH,
          ),
        ],
    shownOptions(command.options).length === 0
      ? []
      : [heading('Options:'), ...optionLines(command.options)],
    [heading('Common options:'), ...optionLines(SHARED_OPTIONS, [['-h, --help', 'This help.']])],
    command.examples.length === 0
      ? []
      : [
          heading('Examples:'),
          ...command.examples.flatMap((example) => [
            `  # ${example.description}`,
            `  ${example.command}`,
          ]),
        ],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

export function usageOf(command: Command): string {
  const words = (command.arguments ?? []).map(argumentText);
  return [
    'headgate',
    command.name,
    ...words,
    ...(shownOptions(command.options).length === 0 ? [] : ['[options]']),
  ].join(' ');
}

export function argumentText({ name, required, variadic }: ArgumentDefinition): string {
  const upper = `${name.toUpperCase()}${variadic === true ? '…' : ''}`;
  return required === true ? upper : `[${upper}]`;
}

/** `--limit N`, `-o, --output FILE` */
export function optionText(key: string, option: Option<unknown>): string {
  const long = option.value === undefined ? flagOf(key) : `${flagOf(key)} ${option.value}`;
  return option.short === undefined ? long : `-${option.short}, ${long}`;
}

/** The description with everything a reader of help wants beside it. */
export function optionDescription(option: Option<unknown>): string {
  const notes = [
    option.choices === undefined ? undefined : `one of ${option.choices.join(', ')}`,
    option.repeatable === true ? 'repeatable' : undefined,
    conflictText(option),
    option.defaultText === undefined ? undefined : `default ${option.defaultText}`,
    option.env === undefined ? undefined : `env ${option.env.join(' or ')}`,
  ].filter((note) => note !== undefined);
  return notes.length === 0 ? option.description : `${option.description} (${notes.join('; ')})`;
}

/** `not with --live, --diff` */
export function conflictText({ conflicts = [] }: Option<unknown>): string | undefined {
  return conflicts.length === 0 ? undefined : `not with ${conflicts.map(flagOf).join(', ')}`;
}

function optionLines(
  options: Options,
  more: readonly (readonly [string, string])[] = [],
): string[] {
  const described = shownOptions(options).map(
    ([key, option]) => [optionText(key, option), optionDescription(option)] as const,
  );
  return definitionList([...described, ...more], WIDTH);
}
