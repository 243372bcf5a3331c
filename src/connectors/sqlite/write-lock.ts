/**
 * Allows one writer of a file at a time within this process. SQLite waits for the lock of another
 * connection on the calling thread, so two writers there would block each other until both time
 * out.
 */
import { Gate } from '../../lib/gate.ts';

interface Shared {
  readonly gate: Gate;
  writers: number;
}

const files = new Map<string, Shared>();

export interface WriteLock {
  /** Returns the function that releases the lock. */
  enter(): Promise<() => void>;
  /** Called by a writer that has finished. */
  leave(): void;
}

/** `path` is absolute; absent for a database that only this connection can see. */
export function writeLockOf(path: string | undefined): WriteLock {
  const shared = (path === undefined ? undefined : files.get(path)) ?? {
    gate: new Gate(1),
    writers: 0,
  };
  if (path !== undefined) files.set(path, shared);
  shared.writers += 1;
  let hasLeft = false;
  return {
    enter: () => shared.gate.enter(),
    leave: () => {
      if (hasLeft) return;
      hasLeft = true;
      shared.writers -= 1;
      if (shared.writers === 0 && path !== undefined) files.delete(path);
    },
  };
}
