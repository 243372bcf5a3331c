import { defineCommand, type Command } from '../framework/command.ts';
import { completionScript, SHELLS, type Shell } from '../framework/completions.ts';
import { EXIT, usageError } from '../framework/exit.ts';

/** The command that knows the others: the list it stands in is handed to it. */
export function completionsCommand(commands: () => readonly Command[]): Command {
  return defineCommand({
    name: 'completions',
    summary: 'Print a completion script for your shell.',
    description: 'Prints a script that teaches a shell the commands and options of this build.',
    arguments: [
      {
        name: 'shell',
        required: true,
        choices: SHELLS,
        description: `One of ${SHELLS.join(', ')}.`,
      },
      {
        name: 'words',
        variadic: true,
        description: 'For the scripts: with `candidates`, the line that is typed.',
      },
    ],
    options: {},
    examples: [
      {
        command: 'headgate completions bash > ~/.local/share/bash-completion/completions/headgate',
        description: 'Bash',
      },
      {
        command: 'headgate completions fish > ~/.config/fish/completions/headgate.fish',
        description: 'Fish',
      },
    ],
    async run({ terminal, world, wiring }, { positionals: [named = '', ...words] }) {
      if (named === 'candidates') {
        const { candidatesOf, printedCandidate } = await import('../framework/candidates.ts');
        const line = {
          before: words.slice(0, -1),
          current: (words.at(-1) ?? '').replace(/^:/, ''),
        };
        const found = await candidatesOf(
          { cwd: world.cwd, parts: () => wiring.parts() },
          commands(),
          line,
        );
        for (const candidate of found) terminal.print(printedCandidate(candidate));
        return EXIT.ok;
      }
      if (words.length > 0) throw usageError('`headgate completions` takes one shell');
      const shell = SHELLS.find((one): one is Shell => one === named);
      if (shell === undefined)
        throw usageError(
          `there are no completions for \`${named}\``,
          `shells: ${SHELLS.join(', ')}`,
        );
      terminal.data(completionScript(shell, commands()));
      return EXIT.ok;
    },
  });
}
