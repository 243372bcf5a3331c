import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';

export const lspCommand = defineCommand({
  name: 'lsp',
  summary: 'Serve editors: errors, completion, hover help (Language Server Protocol over stdio).',
  description:
    'For the settings of an editor, which starts this command and speaks with it. While a document is typed it says what `validate` and `lint` say, completes keys, values and names, ' +
    'explains fields, finds what a name refers to, and formats as `fmt` does. Nothing is contacted or run, and neither variables nor secrets are read.',
  options: {
    stdio: switchOption({ description: 'Speak over standard input and output, as always.' }),
  },
  examples: [{ command: 'headgate lsp', description: 'What an editor starts' }],
  async run({ env, wiring }) {
    const [{ startLanguageServer }, { formatJson, formatYaml }, parts] = await Promise.all([
      import('../../lsp/language-server.ts'),
      import('../documents/format-document.ts'),
      wiring.parts(),
    ]);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    process.stdin.once('close', end);
    startLanguageServer({
      input: process.stdin,
      output: process.stdout,
      version: wiring.version,
      env,
      parts,
      format: (text, format, file) =>
        format === 'json' ? formatJson(text, file) : formatYaml(text, file),
    });
    await ended;
    return EXIT.ok;
  },
});
