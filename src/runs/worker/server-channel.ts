/** How a worker talks to its server. */
import type { FromWorker, ToWorker } from './protocol.ts';
import { watchParent } from './watchdog.ts';

export interface ServerChannel {
  hear(listener: (message: ToWorker) => void): void;
  /**
   * Resolves when the system has it: whatever this process does then cannot keep it back. A server
   * that is gone ends this process by itself: nothing can be reported.
   */
  say(message: FromWorker): Promise<void>;
  /** Says that the worker cannot go on, and ends it. */
  breakDown(reason: string): void;
}

export function serverChannel(): ServerChannel {
  watchParent(process.ppid);
  process.on('disconnect', dieNow);
  return {
    hear: (listener) => void process.on('message', (message) => listener(message as ToWorker)),
    say: (message) => new Promise((resolve) => void process.send?.(message, () => resolve())),
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
