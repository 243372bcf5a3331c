/**
 * Server-sent events: the text of one event, and a stream that stays alive while nothing happens.
 */
import type { Clock } from '../../lib/time/clock.ts';

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

/** A client that loses the stream sends the last `id` when it asks again. */
export function eventText(event: string, data: string, id?: number): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\n${lines.join('')}\n`;
}

/**
 * Passes texts on as they come, with a comment line into every silence of fifteen seconds; ends
 * when `signal` fires.
 */
export async function* keepAlive(
  texts: AsyncIterable<string>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const source = texts[Symbol.asyncIterator]();
  const stop = new AbortController();
  const over = AbortSignal.any([signal, stop.signal]);
  try {
    let next = source.next();
    while (!signal.aborted) {
      const silence = new AbortController();
      const quiet = clock
        .sleep(KEEP_ALIVE_MS, AbortSignal.any([over, silence.signal]))
        .then(() => undefined);
      const result = await Promise.race([next, quiet]);
      silence.abort();
      if (result === undefined) {
        if (!signal.aborted) yield KEEP_ALIVE;
      } else if (result.done === true) return;
      else {
        yield result.value;
        next = source.next();
      }
    }
    // The pending read settles when its source sees the signal; its result is not needed.
    next.catch(() => {});
  } finally {
    stop.abort();
    void source.return?.(undefined)?.catch(() => {});
  }
}
