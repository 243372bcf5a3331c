/** Making what was taken durable, and remembering how far that reaches. */
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { RunError } from '../../lib/errors.ts';
import { wrapConnectorError, connectorErrorOf } from '../failure.ts';
import type { Invocation } from '../row/invocation.ts';
import * as metrics from '../metrics.ts';
import { retrying } from './retry.ts';

/** Makes everything taken so far durable: the sink first, then the dead letters. */
export async function flushAll(invocation: Invocation): Promise<void> {
  const { env, row, sink, deadLetters, tally, hitFailpoint, fence } = invocation;
  const asked = fence?.assertOwnedRecently();
  if (asked !== undefined) await asked;
  const from = env.clock.elapsedMs();
  try {
    await retrying(invocation, 'flush', () => sink.flush());
  } catch (error) {
    tally.unsettle();
    throw wrapConnectorError('Sink', row.sink.type, error);
  }
  tally.settle();
  hitFailpoint?.('after_flush');
  env.metrics.observe(
    metrics.sinkFlushDuration,
    { ...invocation.labels, connector: row.sink.type },
    (env.clock.elapsedMs() - from) / 1000,
  );
  await deadLetters?.flush();
}

/**
 * Stores a bookmark whose records are durable, then acknowledges upstream. True when there is a
 * store to hold it.
 */
export async function saveBookmark(invocation: Invocation, bookmark: JsonValue): Promise<boolean> {
  const { state, stateKey, source, env, labels, row, watermark, hitFailpoint } = invocation;
  const value = watermark?.stateValue(bookmark) ?? bookmark;
  if (state !== undefined) {
    const from = env.clock.elapsedMs();
    try {
      const { lease = state } = invocation;
      await retrying(invocation, 'state_put', () => lease.put(stateKey, value));
    } catch (error) {
      if (error instanceof RunError) throw error;
      env.metrics.inc(metrics.stateErrors, {
        ...labels,
        op: 'put',
        kind: connectorErrorOf(error)?.kind ?? 'unknown',
      });
      throw wrapConnectorError('State', row.state?.type ?? 'state', error);
    }
    hitFailpoint?.('after_bookmark');
    env.metrics.inc(metrics.statePuts, labels);
    env.metrics.observe(metrics.statePutDuration, labels, (env.clock.elapsedMs() - from) / 1000);
    observeBookmark(invocation, bookmark);
  }
  if (source.acknowledge !== undefined) {
    await source.acknowledge(bookmark);
    hitFailpoint?.('after_acknowledge');
  }
  return state !== undefined;
}

/** A bookmark may be a time, or hold one as its `value`. */
function observeBookmark({ env, labels }: Invocation, stored: JsonValue): void {
  const bookmark = isObject(stored) ? stored['value'] : stored;
  if (typeof bookmark !== 'string' || !/^\d{4}-\d{2}-\d{2}T/.test(bookmark)) return;
  const at = Date.parse(bookmark) / 1000;
  if (Number.isNaN(at)) return;
  env.metrics.set(metrics.lastBookmark, labels, at);
  env.metrics.set(metrics.sinceBookmark, labels, env.clock.now().getTime() / 1000 - at);
}
