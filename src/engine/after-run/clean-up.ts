/**
 * After a complete read: rows of the destination that were not seen have vanished at the source,
 * and go.
 */
import { RunError } from '../../lib/errors.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { fillConfig, type RuntimeTokens } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import type { Invocation } from '../row/invocation.ts';

const ROW = ['pipeline', 'row'] as const;
const cleanupRuns = defineMetric({
  name: 'svc_cleanup_runs_total',
  type: 'counter',
  help: 'Looks for vanished records, by outcome: done, skipped or failed.',
  labels: [...ROW, 'outcome'],
});
const cleanupDeleted = defineMetric({
  name: 'svc_cleanup_deleted_total',
  type: 'counter',
  help: 'Records removed because they vanished at the source.',
  labels: ROW,
});
const cleanupKeys = defineMetric({
  name: 'svc_cleanup_keys',
  type: 'gauge',
  help: 'Keys that the last look for vanished records compared.',
  labels: ROW,
});

/**
 * `startedOver`: the source was read from its beginning, so a key that was not seen is gone there.
 */
export async function cleanUp(
  invocation: Invocation,
  tokens: RuntimeTokens,
  startedOver: boolean,
): Promise<void> {
  const { row, env, labels, sink, seen } = invocation;
  const plan = row.cleanUp;
  if (plan === undefined || seen === undefined) return;
  if (!startedOver) {
    env.metrics.inc(cleanupRuns, { ...labels, outcome: 'skipped' });
    env.log.warn(
      'vanished records were not removed: the run continued after a bookmark, so it did not read everything',
      { row: row.id },
    );
    return;
  }
  const scope = fillConfig(plan.scope, tokens, { base: plan.path });
  if (sink.sweep === undefined) {
    throw new RunError(
      'Config',
      'clean_up_unsafe',
      `the sink \`${row.sink.type}\` of row \`${row.id}\` cannot remove vanished records with this config`,
      {
        hint: 'give it `write_mode: upsert` and a `key`, or use `on_missing: ignore`',
      },
    );
  }
  let deleted: number;
  try {
    deleted = await sink.sweep({ scope, keys: seen.values() });
  } catch (error) {
    env.metrics.inc(cleanupRuns, { ...labels, outcome: 'failed' });
    throw wrapConnectorError('Sink', row.sink.type, error);
  }
  env.metrics.inc(cleanupRuns, { ...labels, outcome: 'done' });
  env.metrics.inc(cleanupDeleted, labels, deleted);
  env.metrics.set(cleanupKeys, labels, seen.size);
  env.log.info('vanished records removed', { row: row.id, records: deleted, keys: seen.size });
}
