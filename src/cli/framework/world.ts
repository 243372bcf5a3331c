/** The process as the command line sees it; tests pass a fake one. */
import type { Clock } from '../../lib/time/clock.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { EXIT } from './exit.ts';
import type { Prompts } from './prompts.ts';
import { uuidIds, type Ids } from '../../lib/ids.ts';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface World {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fetch: typeof fetch;
  /** Present when somebody sits at the terminal and can be asked. */
  readonly prompts?: () => Promise<Prompts>;
  /** Calls back for every SIGINT and SIGTERM until the returned function is called. */
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /**
   * Calls back for every SIGHUP until the returned function is called. Without a listener SIGHUP
   * ends the process.
   */
  onHangup(listener: () => void): () => void;
  /** Ends the process now. */
  exit(code: number): void;
}

export function processWorld(): World {
  surviveLostOutput();
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    variables: process.env,
    cwd: workingFolder(),
    clock: systemClock,
    ids: uuidIds,
    fetch: globalThis.fetch,
    // A terminal without a width cannot show a question.
    ...(process.stdin.isTTY && process.stderr.isTTY && process.stderr.columns > 0
      ? { prompts: async () => (await import('./terminal-prompts.ts')).terminalPrompts() }
      : {}),
    onSignal: (listener) => {
      const signals: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];
      for (const signal of signals) process.on(signal, listener);
      return () => {
        for (const signal of signals) process.off(signal, listener);
      };
    },
    onHangup: (listener) => {
      process.on('SIGHUP', listener);
      return () => process.off('SIGHUP', listener);
    },
    exit: (code) => process.exit(code),
  };
}

/**
 * A closed pipe (`headgate list | head`) or a full disk under `> file` must not stop a run that is
 * moving data. What a full disk swallowed is told once, by the exit code too.
 */
function surviveLostOutput(): void {
  let isTold = false;
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || isTold) return;
    isTold = true;
    process.stderr.write(`error: what is printed cannot be written: ${fileFault(error).says}\n`);
    process.once('exit', (code) => {
      if (code === EXIT.ok) process.exitCode = EXIT.failed;
    });
  });
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    process.stderr.write(
      `error: the working folder cannot be used: ${fileFault(error).says}\nhint: change to another folder\n`,
    );
    return process.exit(EXIT.failed);
  }
}
