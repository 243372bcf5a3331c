/** The program: what only a composition root may know, handed to the command line. */
import { readFileSync } from 'node:fs';
import { runCli } from './cli/run-cli.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

process.exitCode = await runCli(process.argv.slice(2), {
  version,
  parts: async () => (await import('./parts.ts')).parts,
  serve: async (options) => (await import('./serve.ts')).serve(options, version),
});
