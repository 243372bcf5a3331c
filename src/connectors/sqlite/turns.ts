/**
 * Writers of one file take turns within this process: one that waited for the lock of another
 * inside the database would hold up the only thread there is, and with it the other, until both
 * gave up.
 */
import { Gate } from '../../lib/gate.ts';

interface Shared {
  readonly gate: Gate;
  writers: number;
}

const files = new Map<string, Shared>();

export interface Turn {
  enter(): Promise<() => void>;
  /** Of a writer that writes no more. */
  leave(): void;
}

/** `path` is absolute; absent for a database that nobody else can see. */
export function turnAt(path: string | undefined): Turn {
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
