/**
 * Where a worker lives: in a process of its own, or in a thread of this process. A process is
 * walled off whatever it loads; a thread costs a tenth of the time to talk to.
 */
import { fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Env } from '../../lib/env.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

export interface HostOptions {
  /** Path of the module that calls `runWorkerLoop`. */
  readonly entry: string;
  /** Its arguments. */
  readonly words: readonly string[];
  readonly cwd: string;
  /** All it sees of the environment. */
  readonly variables: Env['variables'];
  /** JavaScript heap. */
  readonly heapMb: number;
}

export interface HostListener {
  readonly onMessage: (message: FromWorker) => void;
  /** What it writes to its standard error, and what the runtime says of its end. */
  readonly onStderr: (text: string) => void;
  /** Called once; with an error when it could not be started. */
  readonly onEnd: (end: HostEnd) => void;
}

export interface HostEnd {
  readonly error?: Error;
  readonly code?: number | null;
  readonly signal?: NodeJS.Signals | null;
}

export interface WorkerHost {
  /** One that is ending takes no messages. */
  send(message: ToWorker): void;
  /** Ends it now, whatever it does. */
  kill(): void;
}

export type HostKind = 'process' | 'thread';
type StartHost = (options: HostOptions, listener: HostListener) => WorkerHost;

export const HOSTS: Readonly<Record<HostKind, StartHost>> = {
  process: startProcess,
  thread: startThread,
};

function startProcess(options: HostOptions, listener: HostListener): WorkerHost {
  const child = fork(options.entry, options.words, {
    execArgv: [`--max-old-space-size=${options.heapMb}`],
    serialization: 'advanced',
    cwd: options.cwd,
    env: { ...options.variables, ...compileCache() },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
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

/**
 * A loop in it can be ended, and running out of its heap ends it alone. A call of the system that
 * never returns, or a crash of native code, could not be: jobs that may do such things belong into
 * a process.
 */
function startThread(options: HostOptions, listener: HostListener): WorkerHost {
  const thread = new Worker(options.entry, {
    argv: [...options.words],
    env: { ...options.variables },
    workerData: { cwd: options.cwd },
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    name: 'worker',
  });
  let wasOnline = false;
  thread.once('online', () => {
    wasOnline = true;
  });
  thread.on('message', (message) => listener.onMessage(message as FromWorker));
  // `exit` follows.
  thread.on('error', (error: Error) => {
    listener.onStderr(error.message);
    if (!wasOnline) listener.onEnd({ error });
  });
  thread.once('exit', (code) => listener.onEnd({ code }));
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that of windows
    send: (message) => thread.postMessage(message),
    kill: () => void thread.terminate(),
  };
}

/**
 * Where this process keeps compiled code, a new one need not compile it again: it is ready in half
 * the time.
 */
function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
