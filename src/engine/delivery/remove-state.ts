import type { StateStore } from '../../kit/state-store.ts';
import type { Env } from '../../lib/env.ts';
import { connectorErrorOf } from '../failure.ts';
import * as metrics from '../metrics.ts';

export interface StateOfRow {
  readonly store: Pick<StateStore, 'delete'>;
  readonly env: Pick<Env, 'clock' | 'metrics'>;
  readonly labels: { readonly pipeline: string; readonly row: string };
}

/** Removes what a store has of a row, and counts that. */
export async function removeState(
  { store, env, labels }: StateOfRow,
  ...keys: readonly string[]
): Promise<void> {
  for (const key of keys) {
    const from = env.clock.elapsedMs();
    try {
      await store.delete(key);
    } catch (error) {
      const kind = connectorErrorOf(error)?.kind ?? 'unknown';
      env.metrics.inc(metrics.stateErrors, { ...labels, op: 'delete', kind });
      throw error;
    }
    const seconds = (env.clock.elapsedMs() - from) / 1000;
    env.metrics.inc(metrics.stateDeletes, labels);
    env.metrics.observe(metrics.stateDeleteDuration, labels, seconds);
  }
}
