/** Completion scripts, made from the command data. */
import { groupsOf, shownOptions, type ArgumentDefinition, type Command } from './command.ts';
import { SHARED_OPTIONS } from './shared-options.ts';
import { flagOf, type Option, type Options } from './option.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell', 'elvish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return `${SCRIPTS[shell](firstWords(commands)).join('\n')}\n`;
}

/** Commands by their first word: a group offers its second words and what any of them takes. */
function firstWords(commands: readonly Command[]): Command[] {
  const groups = groupsOf(commands);
  const named = new Map(
    commands.map((command) => [command.name.split(' ')[0] ?? command.name, command]),
  );
  return [...named].map(([name, command]) => {
    const group = groups.get(name);
    if (group === undefined) return command;
    const choices = group.map((member) => member.name.slice(name.length + 1));
    return {
      ...command,
      name,
      summary: group.map((member) => member.summary).join(' '),
      arguments: [
        { name: 'what', description: 'What to do.', choices },
        ...group.flatMap((member) => member.arguments ?? []),
      ],
      options: Object.assign({}, ...group.map((member) => member.options)) as Options,
    };
  });
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Command[]) => string[]>> = {
  bash,
  zsh,
  fish,
  powershell,
  elvish,
};

interface Flag {
  readonly flag: string;
  readonly option: Option<unknown>;
}

function flagsOf(command: Command): Flag[] {
  return [...shownOptions(command.options), ...shownOptions(SHARED_OPTIONS)].map(
    ([key, option]) => ({ flag: flagOf(key), option }),
  );
}

/** Fixed words that may stand as an argument of the command. */
function wordsOf(command: Command): readonly string[] {
  return (command.arguments ?? []).flatMap((argument) => argument.choices ?? []);
}

function takesFiles(command: Command): boolean {
  return (command.arguments ?? []).some(
    (argument: ArgumentDefinition) => argument.completes !== undefined,
  );
}

function bash(commands: readonly Command[]): string[] {
  const names = commands.map((command) => command.name).join(' ');
  const branches = commands.flatMap((command) => {
    const words = [...flagsOf(command).map(({ flag }) => flag), '--help', ...wordsOf(command)].join(
      ' ',
    );
    return [`    ${command.name}) words="${words}" files=${takesFiles(command) ? 1 : 0} ;;`];
  });
  const values = [
    ...new Map(commands.flatMap(flagsOf).map((flag) => [flag.flag, flag])).values(),
  ].flatMap(({ flag, option }) => {
    if (option.choices !== undefined)
      return [
        `    ${flag}) COMPREPLY=($(compgen -W "${option.choices.join(' ')}" -- "$current")); return ;;`,
      ];
    if (option.completes !== undefined)
      return [
        `    ${flag}) COMPREPLY=($(compgen -${option.completes === 'file' ? 'f' : 'd'} -- "$current")); return ;;`,
      ];
    return option.value === undefined ? [] : [`    ${flag}) COMPREPLY=(); return ;;`];
  });
  return [
    '_headgate() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words="" files=0',
    '  case "$previous" in',
    ...values,
    '  esac',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${names} --help --version" -- "$current"))`,
    '    return',
    '  fi',
    '  case "${COMP_WORDS[1]}" in',
    ...branches,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  if [ "$files" -eq 1 ]; then COMPREPLY+=($(compgen -f -- "$current")); fi',
    '}',
    'complete -o filenames -F _headgate headgate',
  ];
}

function zsh(commands: readonly Command[]): string[] {
  const described = commands.map(
    (command) => `    ${zshQuote(`${command.name}:${command.summary.replaceAll(':', '\\:')}`)}`,
  );
  const branches = commands.flatMap((command) => {
    const specs = flagsOf(command).map(({ flag, option }) => zshQuote(zshOption(flag, option)));
    const rest =
      wordsOf(command).length > 0
        ? [zshQuote(`*:word:(${wordsOf(command).join(' ')})`)]
        : takesFiles(command)
          ? [zshQuote('*:file:_files')]
          : [];
    return [
      `      ${command.name}) _arguments ${[...specs, zshQuote('--help[Help]'), ...rest].join(' ')} ;;`,
    ];
  });
  return [
    '#compdef headgate',
    '_headgate() {',
    '  local -a commands=(',
    ...described,
    '  )',
    '  local context state line',
    '  local -A opt_args',
    "  _arguments -C '1: :->command' '*:: :->argument'",
    '  case "$state" in',
    "    command) _describe 'command' commands ;;",
    '    argument) case "$line[1]" in',
    ...branches,
    '      esac ;;',
    '  esac',
    '}',
    'if [ "$funcstack[1]" = "_headgate" ]; then _headgate "$@"; else compdef _headgate headgate; fi',
  ];
}

function zshOption(flag: string, option: Option<unknown>): string {
  const text = `${flag}[${option.description.replaceAll(/[[\]:]/g, String.raw`\$&`)}]`;
  const repeat = option.repeatable === true ? '*' : '';
  if (option.value === undefined) return repeat + text;
  if (option.choices !== undefined)
    return `${repeat}${text}:${option.value}:(${option.choices.join(' ')})`;
  const action =
    option.completes === undefined ? ' ' : option.completes === 'file' ? '_files' : '_files -/';
  return `${repeat}${text}:${option.value}:${action}`;
}

function fish(commands: readonly Command[]): string[] {
  const lines = [
    'complete -c headgate -f',
    "complete -c headgate -n __fish_use_subcommand -l version -s V -d 'The version'",
  ];
  for (const command of commands) {
    const here = `-n '__fish_seen_subcommand_from ${command.name}'`;
    lines.push(
      `complete -c headgate -n __fish_use_subcommand -a ${command.name} -d ${single(command.summary)}`,
    );
    if (wordsOf(command).length > 0)
      lines.push(`complete -c headgate ${here} -a ${single(wordsOf(command).join(' '))}`);
    if (takesFiles(command)) lines.push(`complete -c headgate ${here} -F`);
    for (const { flag, option } of flagsOf(command))
      lines.push(
        `complete -c headgate ${here} -l ${flag.slice(2)}${fishValue(option)} -d ${single(option.description)}`,
      );
  }
  return lines;
}

function fishValue(option: Option<unknown>): string {
  if (option.value === undefined) return '';
  if (option.choices !== undefined) return ` -x -a ${single(option.choices.join(' '))}`;
  return option.completes === undefined ? ' -x' : ' -r -F';
}

function powershell(commands: readonly Command[]): string[] {
  const table = commands.map((command) => {
    const words = [...flagsOf(command).map(({ flag }) => flag), '--help', ...wordsOf(command)];
    return `    ${doubled(command.name)} = @(${words.map(doubled).join(', ')})`;
  });
  return [
    'Register-ArgumentCompleter -Native -CommandName headgate -ScriptBlock {',
    '  param($wordToComplete, $commandAst, $cursorPosition)',
    '  $words = @{',
    ...table,
    '  }',
    '  $given = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })',
    "  $offered = if ($given.Count -gt 0 -and $words.ContainsKey($given[0])) { $words[$given[0]] } else { @($words.Keys) + '--help' + '--version' }",
    '  $offered | Where-Object { $_ -like "$wordToComplete*" } | Sort-Object |',
    "    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }",
    '}',
  ];
}

function elvish(commands: readonly Command[]): string[] {
  const branches = commands.flatMap((command) => [
    `    &${single(command.name)}= {`,
    ...flagsOf(command).map(
      ({ flag, option }) =>
        `      edit:complex-candidate ${single(flag)} &display=${doubled(`${flag}  ${option.description}`)}`,
    ),
    ...wordsOf(command).map((word) => `      put ${single(word)}`),
    '    }',
  ]);
  return [
    'set edit:completion:arg-completer[headgate] = {|@words|',
    '  var by-command = [',
    ...branches,
    '  ]',
    '  if (== (count $words) 2) {',
    ...commands.map(
      (command) =>
        `    edit:complex-candidate ${single(command.name)} &display=${doubled(`${command.name}  ${command.summary}`)}`,
    ),
    '  } elif (has-key $by-command $words[1]) {',
    '    $by-command[$words[1]]',
    '    edit:complete-filename $words[-1]',
    '  }',
    '}',
  ];
}

/** Single-quoted for zsh, where a quote inside ends and reopens the text. */
function zshQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Single-quoted for fish and elvish; descriptions with an apostrophe get a typographic one, which
 * both take.
 */
function single(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}

function doubled(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
