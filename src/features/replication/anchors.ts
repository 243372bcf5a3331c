/** The positions of the source of a row, and its state at one of them. */
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { positionValue, readPosition, readToken } from '../../engine/delivery/watermark.ts';
import { wrapConnectorError } from '../../engine/failure.ts';
import { openSink } from '../../engine/row/open.ts';
import { PAGE_BYTES, partContext } from '../../engine/row/parts.ts';
import type { Credentials, SourceContext } from '../../kit/context.ts';
import type { Anchors } from '../../kit/source.ts';
import type { Env } from '../../lib/env.ts';
import { AppError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import type { AnchorsOfRow } from './replicate.ts';

export interface AnchorOptions {
  readonly env: Env;
  readonly plan: Plan;
  readonly row: PlannedRow;
  readonly runId: string;
  readonly credentials: Credentials;
  readonly signal: AbortSignal;
}

export function anchorsOf(options: AnchorOptions): AnchorsOfRow {
  const { row } = options;
  const { type } = row.source;
  const asking = async <T>(
    ask: (anchors: Anchors<unknown>, config: unknown, context: SourceContext) => Promise<T>,
  ): Promise<T> => {
    const { anchors } = row.source.definition;
    if (anchors === undefined) throw new AppError('bad_config', `\`${type}\` reads no changes`);
    const config = resolvePart(row.source, tokensOf(options));
    return ask(anchors, config, sourceContext(options)).catch((error: unknown) => {
      options.signal.throwIfAborted();
      throw wrapConnectorError('Source', type, error);
    });
  };
  return {
    take: () => asking((anchors, config, context) => anchors.take(config, context)),
    check: (anchor) => asking((anchors, config, context) => anchors.check(config, context, anchor)),
    stateAt: (anchor, stored) => stateAt(options, anchor, stored),
  };
}

function sourceContext(options: AnchorOptions): SourceContext {
  const retry = blockOf(options.row, resilienceBlock)?.retry;
  return {
    ...contextOf(options),
    signal: options.signal,
    pageBytes: PAGE_BYTES,
    ...(retry === undefined ? {} : { retry }),
  };
}

function contextOf({ env, plan, row, credentials, signal }: AnchorOptions) {
  return partContext({ env, plan, row, credentials, invocationId: env.ids.next(), kill: signal });
}

function tokensOf({ env }: AnchorOptions): RuntimeTokens {
  return {
    now: { date: env.clock.now(), zone: 'UTC' },
    records: new Map<string, JsonValue>(),
  };
}

/**
 * Of a row that commits watermarks the destination may know of pages from before: their number is
 * taken over, so that the position counts and not the one stored with them.
 */
async function stateAt(
  options: AnchorOptions,
  anchor: JsonValue,
  stored: JsonValue | undefined,
): Promise<JsonValue> {
  const { row, runId } = options;
  if (row.delivery !== 'exactly_once') return anchor;
  await using closers = new AsyncDisposableStack();
  const tokens = tokensOf(options);
  const context = { ...contextOf(options), role: 'main', runId } as const;
  const { sink } = await openSink({ tokens }, row.sink, context, closers);
  if (sink.tokens === undefined) return anchor;
  const last = await sink.tokens.last(row.stateKey).catch((error: unknown) => {
    throw wrapConnectorError('Sink', row.sink.type, error);
  });
  return positionValue(anchor, Math.max(readPosition(stored).seq, readToken(last).seq));
}
