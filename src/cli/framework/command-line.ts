/**
 * From arguments to a command and the texts of its flags. The parser library stays behind this
 * file.
 */
import { Command as Parser, CommanderError, Option as Flag } from 'commander';
import { suggestion } from '../../lib/text/nearest.ts';
import { groupsOf, shownOptions, type ArgumentDefinition, type Command } from './command.ts';
import { SHARED_OPTIONS } from './shared-options.ts';
import { usageError } from './exit.ts';
import { flagOf, type Option, type Options } from './option.ts';

export type ParsedLine =
  | { readonly kind: 'version' }
  /** Help for one command, or for all. */
  | { readonly kind: 'help'; readonly command: Command | undefined }
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'command';
      readonly command: Command;
      readonly positionals: readonly string[];
      /** By option key; common options included. */
      readonly flags: ReadonlyMap<string, readonly string[]>;
    };

export function parseLine(argv: readonly string[], commands: readonly Command[]): ParsedLine {
  const [first] = argv;
  if (first === undefined) return { kind: 'nothing' };
  if (first === '--version' || first === '-V' || first === 'version') return { kind: 'version' };
  if (first === 'help')
    return {
      kind: 'help',
      command: argv[1] === undefined ? undefined : find(argv.slice(1), commands),
    };
  let found: ParsedLine = { kind: 'nothing' };
  const root = quiet(new Parser('headgate'));
  for (const [key, option] of Object.entries(SHARED_OPTIONS)) root.addOption(flag(key, option));
  root.addOption(new Flag('-h, --help'));
  const candidates = startingWith(first, commands);
  const groups = new Map(
    [...groupsOf(candidates).keys()].map((name) => [name, quiet(root.command(name))]),
  );
  for (const command of candidates) {
    const [name = '', second] = command.name.split(' ');
    const parser = quiet(
      second === undefined ? root.command(name) : (groups.get(name) ?? root).command(second),
    );
    for (const argument of command.arguments ?? []) parser.argument(argumentText(argument));
    for (const [key, option] of Object.entries(command.options))
      parser.addOption(flag(key, option));
    parser.action(() => {
      found = {
        kind: 'command',
        command,
        positionals: parser.args,
        flags: new Map([...textsOf(root), ...textsOf(parser)]),
      };
    });
  }
  if (asksForHelp(argv)) return { kind: 'help', command: mentioned(argv, commands) };
  refuseBareGroup(argv, commands);
  try {
    root.parse([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw explained(error, argv, commands);
    throw error;
  }
  return found;
}

/** All of them when none does: describing every option of every command takes as long as a small run. */
function startingWith(word: string, commands: readonly Command[]): readonly Command[] {
  const found = commands.filter(({ name }) => name === word || name.startsWith(`${word} `));
  return found.length === 0 ? commands : found;
}

function find(words: readonly string[], commands: readonly Command[]): Command {
  const command = mentioned(words, commands);
  if (command !== undefined) return command;
  refuseBareGroup(words, commands);
  const name = words.join(' ');
  throw usageError(
    `there is no command \`${name}\``,
    suggestion(
      name,
      commands.map((one) => one.name),
      'commands',
    ),
  );
}

/** The first argument, or pair of arguments, that names a command. */
function mentioned(argv: readonly string[], commands: readonly Command[]): Command | undefined {
  return argv
    .map((text, index) =>
      commands.find(({ name }) => name === text || name === `${text} ${argv[index + 1] ?? ''}`),
    )
    .find((command) => command !== undefined);
}

/** The first word of a group is not a command. */
function refuseBareGroup(argv: readonly string[], commands: readonly Command[]): void {
  const [name = '', second] = argv.filter((text) => !text.startsWith('-'));
  const group = groupsOf(commands).get(name);
  if (group === undefined) return;
  const words = group.map((command) => command.name.slice(name.length + 1));
  if (second !== undefined && words.includes(second)) return;
  const message =
    second === undefined
      ? `\`headgate ${name}\` needs to know what to do`
      : `\`headgate ${name}\` cannot \`${second}\``;
  throw usageError(
    message,
    `write one of ${words.map((word) => `\`headgate ${name} ${word}\``).join(', ')}`,
  );
}

/** `--help` wins over everything else on the line, also over missing arguments. */
function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const options = end === -1 ? argv : argv.slice(0, end);
  return options.includes('--help') || options.includes('-h');
}

function quiet(parser: Parser): Parser {
  return parser
    .exitOverride()
    .helpOption(false)
    .helpCommand(false)
    .showSuggestionAfterError(false)
    .allowExcessArguments(false)
    .configureOutput({ writeOut: () => {}, writeErr: () => {} });
}

function flag(key: string, option: Option<unknown>): Flag {
  const long =
    option.value === undefined ? flagOf(key) : `${flagOf(key)} <${option.value.toLowerCase()}>`;
  const made = new Flag(option.short === undefined ? long : `-${option.short}, ${long}`);
  // The library reads `--no-x` as "x is false"; our `--no-x` options are options of their own.
  made.negate = false;
  made.conflicts([...(option.conflicts ?? [])]);
  return option.value === undefined
    ? made
    : made.argParser((text: string, before: readonly string[] | undefined) => [
        ...(before ?? []),
        text,
      ]);
}

function argumentText({ name, required, variadic }: ArgumentDefinition): string {
  const inside = variadic === true ? `${name}...` : name;
  return required === true ? `<${inside}>` : `[${inside}]`;
}

function textsOf(parser: Parser): [string, readonly string[]][] {
  return Object.entries(parser.opts())
    .filter(([key]) => parser.getOptionValueSource(key) === 'cli')
    .map(([key, value]) => [key, Array.isArray(value) ? value.map(String) : [String(value)]]);
}

/** Errors of the parser library as messages of ours. */
function explained(
  error: CommanderError,
  argv: readonly string[],
  commands: readonly Command[],
): Error {
  const named = /'([^']*)'/.exec(error.message)?.[1] ?? '';
  const command = mentioned(argv, commands);
  switch (error.code) {
    case 'commander.unknownCommand':
      return usageError(
        `there is no command \`${named}\``,
        suggestion(
          named,
          commands.map((one) => one.name),
          'commands',
        ),
      );
    case 'commander.unknownOption':
      return unknownOption(named, command);
    case 'commander.optionMissingArgument':
      return usageError(`\`${named.replace(/^-\w, /, '').replace(/ <.*/, '')}\` needs a value`);
    case 'commander.conflictingOption': {
      const [one, other] = [...error.message.matchAll(/--[\w-]+/g)].map(([name]) => `\`${name}\``);
      return usageError(`${one} cannot be used together with ${other}`, seeHelp(command));
    }
    case 'commander.missingArgument':
      return usageError(`\`headgate ${command?.name ?? ''}\` needs \`${named}\``, seeHelp(command));
    case 'commander.excessArguments':
      return usageError(
        `\`headgate ${command?.name ?? ''}\` was given more arguments than it takes`,
        seeHelp(command),
      );
    default:
      return usageError(error.message.replace(/^error: /, ''), seeHelp(command));
  }
}

function unknownOption(named: string, command: Command | undefined): Error {
  const known: Options = { ...SHARED_OPTIONS, ...command?.options };
  const flags = shownOptions(known).map(([key]) => flagOf(key));
  const near = suggestion(named, flags);
  const where = command === undefined ? '`headgate`' : `\`headgate ${command.name}\``;
  return usageError(
    `${where} has no option \`${named}\``,
    near?.startsWith('did you mean') === true ? near : seeHelp(command),
  );
}

function seeHelp(command: Command | undefined): string {
  return command === undefined
    ? 'see `headgate --help`'
    : `see \`headgate ${command.name} --help\``;
}
