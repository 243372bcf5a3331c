/**
 * Where an invocation starts: after the bookmark in the state store, or after what the sink has
 * committed beyond that.
 */
import { blockOf } from '../../blocks/define-block.ts';
import { rollbackBlock } from '../../blocks/rollback/index.ts';
import { RunError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { TokenWriter } from '../../kit/sink.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import { PAGES_SKIPPED, readPosition, Watermark } from '../delivery/watermark.ts';
import { wrapConnectorError } from '../failure.ts';
import type { OpenedInvocation } from './invocation.ts';
import * as metrics from '../metrics.ts';

export interface Start {
  readonly bookmark: JsonValue | undefined;
  readonly watermark: Watermark | undefined;
}

/**
 * What ends the row at its destination is refused there from now on to executions before this one.
 * Rows that only add pages need it with a watermark alone, which takes its scope itself.
 */
export async function takeScope(invocation: OpenedInvocation): Promise<void> {
  const { row, sink, capabilities, fence, stateKey } = invocation;
  const endsWhole =
    capabilities.writeMode === 'overwrite' ||
    row.cleanUp !== undefined ||
    blockOf(row, rollbackBlock) !== undefined;
  if (fence === undefined || !endsWhole || sink.takeScope === undefined) return;
  try {
    await sink.takeScope(stateKey);
  } catch (error) {
    throw wrapConnectorError('Sink', row.sink.type, error);
  }
  // It has taken the scope from executions before it; not from one behind it.
  await fence.assertOwned();
}

/** Dry and limited runs commit no watermark, because they store no position. */
export async function startPosition(invocation: OpenedInvocation): Promise<Start> {
  const { row, env, labels, stateKey, state } = invocation;
  const stored = readPosition(await lastBookmark(invocation));
  const tokens =
    row.delivery === 'exactly_once' && invocation.storesPositions
      ? tokensOf(invocation)
      : undefined;
  if (tokens === undefined) return { bookmark: stored.bookmark, watermark: undefined };
  const watermark = await Watermark.open(tokens, stateKey, stored).catch((error: unknown) => {
    throw wrapConnectorError('Sink', row.sink.type, error);
  });
  // It has taken the scope of the watermark from executions before it; not from one behind it.
  await invocation.fence?.assertOwned();
  if (watermark.recovered > 0 && watermark.bookmark !== undefined) {
    env.metrics.inc(PAGES_SKIPPED, labels, watermark.recovered);
    env.log.info('continuing after the last page that the destination has committed', {
      row: row.id,
      pages: watermark.recovered,
    });
    const { lease = state } = invocation;
    await lease?.put(stateKey, watermark.stateValue(watermark.bookmark)).catch((error: unknown) => {
      if (error instanceof RunError) throw error;
      throw wrapConnectorError('State', row.state?.type ?? 'state', error);
    });
    invocation.hitFailpoint?.('after_recovery');
  }
  return { bookmark: watermark.bookmark, watermark };
}

/**
 * `undefined` where a key makes repeats harmless. What cannot be kept was refused at load, unless a
 * config was known only now.
 */
function tokensOf({
  row,
  sink,
  capabilities,
  replay,
  state,
  deadLetters,
}: OpenedInvocation): TokenWriter | undefined {
  const isCapable =
    replay === 'positional' &&
    capabilities.token &&
    state !== undefined &&
    deadLetters === undefined;
  if (isCapable && sink.tokens !== undefined) return sink.tokens;
  if (isKeyed(capabilities.writeMode) && capabilities.key.length > 0) return undefined;
  throw new RunError(
    'Config',
    'exactly_once_unreachable',
    `row \`${row.id}\` cannot deliver exactly once with the config of this run`,
    {
      hint: 'give the sink `write_mode: upsert` and a `key`, or use `at_least_once`',
    },
  );
}

async function lastBookmark(invocation: OpenedInvocation): Promise<JsonValue | undefined> {
  const { state, startKey, env, labels, row } = invocation;
  if (state === undefined || row.readsAnew === true) return undefined;
  const from = env.clock.elapsedMs();
  try {
    const value = await state.get(startKey);
    env.metrics.inc(metrics.stateGets, {
      ...labels,
      outcome: value === undefined ? 'miss' : 'hit',
    });
    env.metrics.observe(metrics.stateGetDuration, labels, (env.clock.elapsedMs() - from) / 1000);
    return value;
  } catch (error) {
    env.metrics.inc(metrics.stateErrors, { ...labels, op: 'get', kind: 'unknown' });
    throw wrapConnectorError('State', row.state?.type ?? 'state', error);
  }
}
