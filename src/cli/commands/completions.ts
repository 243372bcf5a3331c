import { defineCommand } from '../command.ts';
import { completionScript, SHELLS, type Shell } from '../completions.ts';
import { EXIT, usageError } from '../exit.ts';

export const completionsCommand = defineCommand({
  name: 'completions',
  summary: 'Print a completion script for your shell.',
  description: 'Prints a script that teaches a shell the commands and options of this build.',
  arguments: [{ name: 'shell', required: true, choices: SHELLS, description: `One of ${SHELLS.join(', ')}.` }],
  options: {},
  examples: [
    { command: 'headgate completions bash > ~/.local/share/bash-completion/completions/headgate', description: 'Bash' },
    { command: 'headgate completions fish > ~/.config/fish/completions/headgate.fish', description: 'Fish' },
  ],
  async run({ terminal }, { positionals: [named = ''] }) {
    const shell = SHELLS.find((one): one is Shell => one === named);
    if (shell === undefined) throw usageError(`there are no completions for \`${named}\``, `shells: ${SHELLS.join(', ')}`);
    // Imported here: the list of commands holds this one.
    const { COMMANDS } = await import('./index.ts');
    terminal.data(completionScript(shell, COMMANDS));
    return EXIT.ok;
  },
});
