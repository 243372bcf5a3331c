/** What is known of runs without their schemas, which take time to build. */

export const RUN_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export function isTerminal(status: RunStatus): status is 'completed' | 'failed' | 'cancelled' {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** What every connector with such a setting accepts. */
export const MAX_CONCURRENCY = 256;
