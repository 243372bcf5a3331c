/** The program: what only a composition root may know, handed to the command line. */
import { readFileSync } from 'node:fs';
import { EXIT } from './cli/framework/exit.ts';
import { runCli } from './cli/framework/run-cli.ts';
import { programFile } from './lib/files/program-file.ts';

/** How long open handles may keep the process alive when its work is done. */
const LINGER_MS = 1000;

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

// No `await` at the top: the bundle is CommonJS.
void runCli(process.argv.slice(2), {
  version,
  parts: async (packages, cwd) => (await import('./parts.ts')).partsWith(packages, cwd),
  serve: async (options) => (await import('./serve.ts')).serve(options, version),
  crashEntry: () => programFile('crash-attempt'),
  writerEntry: () => programFile('conformance-writer'),
}).then(end);

function end(code: number): void {
  process.exitCode = code;
  // Nothing is left to do then, and ending here spares the time in which memory is tidied up.
  process.once('beforeExit', () => process.exit());
  // A system call that never returns (a read of a silent pipe) would keep the process alive, and
  // `process.exit` waits for such calls too. After a stop the process therefore ends by the signal
  // that asked for it.
  setTimeout(() => {
    if (code === EXIT.interrupted) process.kill(process.pid, 'SIGINT');
    else if (code === EXIT.terminated) process.kill(process.pid, 'SIGTERM');
    else process.exit();
  }, LINGER_MS).unref();
}
