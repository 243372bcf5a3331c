import { vi } from 'vitest';

/** Long enough for a machine that is busy with other tests; what holds sooner is not waited for. */
const USUAL = { timeout: 40_000, interval: 25 };

/** Tries `check` again until it throws no more; its last error is thrown when that takes too long. */
export const eventually = <T>(
  check: () => T | Promise<T>,
  wait: Partial<typeof USUAL> = {},
): Promise<T> => vi.waitFor(check, { ...USUAL, ...wait });
