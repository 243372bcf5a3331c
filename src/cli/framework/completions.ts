/**
 * Completion scripts. They know the commands; what may follow one depends on the place and often on
 * the document, so they ask the program for it (`candidates.ts`).
 */
import { groupsOf, type Command } from './command.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell', 'elvish'] as const;
export type Shell = (typeof SHELLS)[number];

/** How scripts ask: the words before the one that is typed follow, then that word behind a colon. */
export const ASKING = 'completions candidates --';

interface FirstWord {
  readonly name: string;
  readonly summary: string;
}

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return `${SCRIPTS[shell](firstWords(commands)).join('\n')}\n`;
}

/** Commands by their first word; a group is described by all of its members. */
export function firstWords(commands: readonly Command[]): FirstWord[] {
  const groups = groupsOf(commands);
  const first = new Map<string, FirstWord>();
  for (const { name, summary } of commands) {
    const word = name.split(' ')[0] ?? name;
    const group = groups.get(word);
    first.set(word, {
      name: word,
      summary: group === undefined ? summary : group.map((member) => member.summary).join(' '),
    });
  }
  return [...first.values()];
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly FirstWord[]) => string[]>> = {
  bash,
  zsh,
  fish,
  powershell,
  elvish,
};

function bash(commands: readonly FirstWord[]): string[] {
  const names = commands.map(({ name }) => name).join(' ');
  return [
    '_headgate() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" line',
    '  COMPREPLY=()',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${names} --help --version" -- "$current"))`,
    '    return',
    '  fi',
    '  while IFS= read -r line; do',
    '    case "$line" in',
    '      :file) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${current#=}") ;;',
    '      :directory) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "${current#=}") ;;',
    `      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;`,
    '    esac',
    `  done < <("\${COMP_WORDS[0]}" ${ASKING} "\${COMP_WORDS[@]:1:COMP_CWORD-1}" ":$current" 2>/dev/null)`,
    '}',
    'complete -F _headgate headgate',
  ];
}

function zsh(commands: readonly FirstWord[]): string[] {
  const described = commands.map(
    ({ name, summary }) => `    ${zshQuote(`${name}:${summary.replaceAll(':', '\\:')}`)}`,
  );
  return [
    '#compdef headgate',
    '_headgate() {',
    '  local -a commands=(',
    ...described,
    '  )',
    '  if (( CURRENT == 2 )); then',
    "    _describe 'command' commands",
    '    return',
    '  fi',
    '  local line',
    '  local -a found=()',
    `  for line in "\${(@f)$("\${words[1]}" ${ASKING} "\${(@)words[2,CURRENT-1]}" ":\${words[CURRENT]}" 2>/dev/null)}"; do`,
    '    case "$line" in',
    '      :file) _files ;;',
    '      :directory) _files -/ ;;',
    `      ?*) found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;`,
    '    esac',
    '  done',
    "  (( $#found )) && _describe 'headgate' found",
    '}',
    'if [ "$funcstack[1]" = "_headgate" ]; then _headgate "$@"; else compdef _headgate headgate; fi',
  ];
}

function fish(commands: readonly FirstWord[]): string[] {
  return [
    'function __headgate_candidates',
    '  set -l words (commandline -opc)',
    '  set -l current (commandline -ct)',
    `  for line in ($words[1] ${ASKING} $words[2..-1] ":$current" 2>/dev/null)`,
    '    switch $line',
    "      case ':file'",
    '        __fish_complete_path $current',
    "      case ':directory'",
    '        __fish_complete_directories $current',
    "      case '*'",
    '        echo $line',
    '    end',
    '  end',
    'end',
    'complete -c headgate -f',
    ...commands.map(
      ({ name, summary }) =>
        `complete -c headgate -n __fish_use_subcommand -a ${name} -d ${single(summary)}`,
    ),
    "complete -c headgate -n 'not __fish_use_subcommand' -a '(__headgate_candidates)'",
  ];
}

function powershell(commands: readonly FirstWord[]): string[] {
  return [
    'Register-ArgumentCompleter -Native -CommandName headgate -ScriptBlock {',
    '  param($wordToComplete, $commandAst, $cursorPosition)',
    `  $commands = @(${commands.map(({ name }) => doubled(name)).join(', ')}, '--help', '--version')`,
    '  $given = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })',
    '  $before = @($given | Select-Object -Skip 1)',
    `  $lines = if ($before.Count -eq 0) { $commands } else { & $given[0] ${ASKING.replace('--', "'--'")} @before ":$wordToComplete" 2>$null }`,
    '  $lines | ForEach-Object { ($_ -split "`t")[0] } | Where-Object { $_ -like "$wordToComplete*" } |',
    "    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }",
    '}',
  ];
}

function elvish(commands: readonly FirstWord[]): string[] {
  return [
    'use str',
    'set edit:completion:arg-completer[headgate] = {|@words|',
    '  var current = $words[-1]',
    '  if (== (count $words) 2) {',
    ...commands.map(
      ({ name, summary }) =>
        `    edit:complex-candidate ${single(name)} &display=${doubled(`${name}  ${summary}`)}`,
    ),
    '  } else {',
    `    (external $words[0]) ${ASKING} $@words[1..-1] ":"$current 2>/dev/null | from-lines | each {|line|`,
    "      if (or (eq $line ':file') (eq $line ':directory')) {",
    '        edit:complete-filename $current',
    '      } else {',
    '        put (str:split &max=2 "\\t" $line) | take 1',
    '      }',
    '    }',
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
