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
    run({ terminal }, { positionals: [named = ''] }) {
      const shell = SHELLS.find((one): one is Shell => one === named);
      if (shell === undefined)
        throw usageError(
          `there are no completions for \`${named}\``,
          `shells: ${SHELLS.join(', ')}`,
        );
      terminal.data(completionScript(shell, commands()));
      return Promise.resolve(EXIT.ok);
    },
  });
}
