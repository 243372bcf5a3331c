import type { Env } from '../../../lib/env.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import type { Bound } from './bind.ts';
import { instantOf, isoText } from '../../_http/positions.ts';
import { WINDOW_TOKEN, type WindowBlock } from '../config/replication-config.ts';

/** A half-open slice of time, as the request has it, and the bookmark after it was read. */
export interface Slice {
  readonly bounds: readonly Bound[];
  readonly bookmark: JsonValue;
}

export interface WindowRun {
  readonly env: Env;
  readonly window: WindowBlock;
  /** The start of the document; its kind (text or number) is what `raw` sends. */
  readonly start: JsonValue;
  readonly bookmark: JsonValue | undefined;
}

/** Slices from the bookmark (or the start) to now, in order. */
export function* slices({ env, window, start, bookmark }: WindowRun): Generator<Slice> {
  const nowMs = env.clock.now().getTime();
  const from = bookmark ?? start;
  const fromMs = instantOf(from);
  if (fromMs === undefined) {
    throw new ConnectorError(
      'data',
      `the position ${jsonText(from)} is not a time, so no window can start there`,
      {
        hint: 'reset the stored state',
      },
    );
  }
  // The lookback lowers only what is asked for: the bookmark never goes back.
  const lookbackMs = (window.lookback ?? 0) * 1000;
  let lowerMs = fromMs - lookbackMs;
  for (let count = 0; lowerMs < nowMs; count += 1) {
    if (count === window.max_windows) {
      env.log.info('max_windows is reached; the next run goes on from there', {
        max_windows: count,
        reached: isoText(lowerMs),
      });
      return;
    }
    const upperMs = Math.min(lowerMs + window.step * 1000, nowMs);
    const sentUpperMs = upperMs - (window.granularity ?? 0) * 1000;
    yield {
      bounds: [
        { bind: window.lower, token: WINDOW_TOKEN, value: instant(lowerMs, start) },
        { bind: window.upper, token: WINDOW_TOKEN, value: instant(sentUpperMs, start) },
      ],
      bookmark: isoText(Math.max(upperMs, fromMs)),
    };
    lowerMs = upperMs;
  }
}

function instant(ms: number, like: JsonValue): JsonValue {
  return typeof like === 'string' ? isoText(ms) : ms / 1000;
}
