/**
 * The process of a worker. Not a thread: where a thread runs out of its heap, the runtime may end
 * the whole process.
 */
import { fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { setPriority } from 'node:os';
import { dirname } from 'node:path';
import type { Env } from '../../lib/env.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

/** About half of the share of others. */
const YIELDING_PRIORITY = 3;

export interface ProcessOptions {
  /** Path of the module that calls `runWorkerLoop`. */
  readonly entry: string;
  /** Its arguments. */
  readonly words: readonly string[];
  readonly cwd: string;
  /** All it sees of the environment. */
  readonly variables: Env['variables'];
  /** JavaScript heap. */
  readonly heapMb: number;
  /** Whether the server and others go first where processors are short. */
  readonly yields: boolean;
}

export interface ProcessListener {
  readonly onMessage: (message: FromWorker) => void;
  /** What it writes to its standard error, and what the runtime says of its end. */
  readonly onStderr: (text: string) => void;
  /** Called once; with an error when it could not be started. */
  readonly onEnd: (end: ProcessEnd) => void;
}

export interface ProcessEnd {
  readonly error?: Error;
  readonly code?: number | null;
  readonly signal?: NodeJS.Signals | null;
}

export interface WorkerProcess {
  /** One that is ending takes no messages. */
  send(message: ToWorker): void;
  /** Ends it now, whatever it does. */
  kill(): void;
}

export function startProcess(options: ProcessOptions, listener: ProcessListener): WorkerProcess {
  const child = fork(options.entry, options.words, {
    execArgv: [`--max-old-space-size=${options.heapMb}`],
    serialization: 'advanced',
    cwd: options.cwd,
    env: { ...options.variables, ...compileCache() },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  if (options.yields) giveWay(child.pid);
  child.stderr?.setEncoding('utf8').on('data', listener.onStderr);
  child.on('message', (message) => listener.onMessage(message as FromWorker));
  child.once('error', (error) => listener.onEnd({ error }));
  child.once('close', (code, signal) => listener.onEnd({ code, signal }));
  return {
    send: (message) => {
      if (child.connected) child.send(message, () => {});
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** While the process has no threads yet: they inherit it. */
function giveWay(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, YIELDING_PRIORITY);
  } catch {
    // Some systems forbid it, and the process may be gone.
  }
}

/**
 * Where this process keeps compiled code, a new one need not compile it again: it is ready in half
 * the time.
 */
function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  // Node puts a folder for its own version into the one that it is told.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
