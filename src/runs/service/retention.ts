import type { History, Purged } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { logsPurged } from './metrics.ts';

export interface RetentionLimits {
  readonly retainTerminalSecs: number;
  readonly idempotencySecs: number;
  readonly logRetentionSecs: number;
  readonly leaseTtlSecs: number;
}

export interface RetentionOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly history: History;
  readonly limits: RetentionLimits;
  readonly signal: AbortSignal;
}

/** Removes what has outlived its window, at once and then now and again. */
export async function keepRetention(options: RetentionOptions): Promise<void> {
  const { env, limits, signal } = options;
  const window = Math.min(
    limits.retainTerminalSecs,
    limits.idempotencySecs || Number.POSITIVE_INFINITY,
  );
  const periodSecs = Math.min(3600, Math.max(60, window / 4));
  while (!signal.aborted) {
    try {
      await purgeOnce(options);
    } catch (error) {
      env.log.warn('old records could not be removed', { error: messageOf(error) });
    }
    await env.clock.sleep(periodSecs * 1000, signal);
  }
}

/** Audit entries live as long as runs. */
export async function purgeOnce({
  env,
  history,
  limits,
}: Omit<RetentionOptions, 'signal'>): Promise<Purged> {
  const now = env.clock.now().getTime();
  const ago = (secs: number): string => new Date(now - secs * 1000).toISOString();
  const purged = await history.purge({
    runsBefore: ago(limits.retainTerminalSecs),
    auditBefore: ago(limits.retainTerminalSecs),
    claimsBefore: ago(limits.idempotencySecs),
    logsBefore: ago(limits.logRetentionSecs),
    // A row of an instance that has been silent for long has no use any more: its leases have
    // expired.
    instancesBefore: ago(limits.leaseTtlSecs * 10),
  });
  env.metrics.inc(logsPurged, {}, purged.logs);
  return purged;
}
