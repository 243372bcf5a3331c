/** How a worker talks to its server: over the channel of its process, or of its thread. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import type { FromWorker, ToWorker } from './protocol.ts';
import { watchParent } from './watchdog.ts';

export interface ServerChannel {
  /** Where relative paths start. */
  readonly cwd: string;
  hear(listener: (message: ToWorker) => void): void;
  /** A server that is gone ends this worker by itself: nothing can be reported. */
  say(message: FromWorker): void;
  /** Says that the worker cannot go on, and ends it. */
  breakDown(reason: string): void;
}

export function serverChannel(): ServerChannel {
  return parentPort === null ? processChannel() : threadChannel(parentPort);
}

function processChannel(): ServerChannel {
  watchParent(process.ppid);
  process.on('disconnect', dieNow);
  return {
    cwd: process.cwd(),
    hear: (listener) => void process.on('message', (message) => listener(message as ToWorker)),
    say: (message) => void process.send?.(message, () => {}),
    breakDown: (reason) =>
      void process.send?.({ type: 'broken', reason } satisfies FromWorker, dieNow),
  };
}

/**
 * An orderly exit waits for system calls under way; one that never returns (reading a silent pipe)
 * would keep this process for ever.
 */
function dieNow(): void {
  process.kill(process.pid, 'SIGKILL');
}

function threadChannel(port: MessagePort): ServerChannel {
  const say = (message: FromWorker): void => port.postMessage(message);
  const { cwd } = workerData as { readonly cwd: string };
  return {
    cwd,
    hear: (listener) => void port.on('message', (message: ToWorker) => listener(message)),
    say,
    breakDown: (reason) => {
      say({ type: 'broken', reason });
      process.exit(1);
    },
  };
}
