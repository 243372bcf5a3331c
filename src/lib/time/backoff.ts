/** How long to wait before another try. */
export interface BackoffPolicy {
  readonly backoff: 'none' | 'fixed' | 'exponential';
  readonly baseMs: number;
  readonly maxMs: number;
  /** Multiplies the capped delay by a random factor in [0.5, 1.5). */
  readonly jitter: boolean;
}

/** A server that asks for a longer wait (`Retry-After`) is not waited for. */
export const LONGEST_ASKED_WAIT_MS = 3_600_000;

/** The delay before retry number `attempt` (0 for the first retry), in milliseconds. */
export function backoffMs(
  policy: BackoffPolicy,
  attempt: number,
  random: () => number = Math.random,
): number {
  if (policy.backoff === 'none') return 0;
  const raw =
    policy.backoff === 'fixed' ? policy.baseMs : policy.baseMs * 2 ** Math.min(attempt, 52);
  const capped = Math.min(raw, policy.maxMs);
  return policy.jitter ? capped * (0.5 + random()) : capped;
}
