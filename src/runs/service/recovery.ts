import type { History, Instance } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { mayBeAlive, type ProcessIdentity } from './instance.ts';

export interface RecoveryOptions {
  readonly env: Pick<Env, 'clock' | 'log'>;
  readonly self: Instance;
  /** Tests say who lives. */
  readonly isAlive?: (other: Pick<ProcessIdentity, 'pid' | 'pid_started'>) => boolean;
}

const EXPIRED = 'the run was interrupted: the lease of the server that ran it expired';

/**
 * Fails runs that were executed when their server ended: at once when their server was a process of this host
 * that has ended, else when its lease has expired. No callback fires. May be repeated at any time.
 */
export async function recoverOrphans(
  history: History,
  options: RecoveryOptions,
): Promise<readonly string[]> {
  const { env, self, isAlive = mayBeAlive } = options;
  const now = env.clock.now().toISOString();
  const failed: string[] = [];
  for (const other of await history.listInstances()) {
    if (other.instance_id === self.instance_id || other.host !== self.host || isAlive(other))
      continue;
    const error = `the run was interrupted: the server process that ran it (pid ${other.pid}) is gone, so its lease ended before it expired`;
    failed.push(...(await history.failRunsOf(other.instance_id, now, error)));
    await history.removeInstance(other.instance_id);
  }
  failed.push(...(await history.failExpired(now, EXPIRED)));
  if (failed.length > 0)
    env.log.warn('interrupted runs were recorded as failed', { runs: failed.length });
  return failed;
}
