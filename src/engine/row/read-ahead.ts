import { setImmediate } from 'node:timers/promises';

/**
 * Fetches the next item while the current one is worked on: one item ahead, never more, so memory
 * stays bounded and a slow consumer slows the producer. Ends the producer when the consumer leaves.
 */
export async function* readAhead<T>(
  items: AsyncIterable<T>,
  onWait: (ms: number) => void,
  elapsedMs: () => number,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  let next = pull(iterator);
  try {
    for (;;) {
      const from = elapsedMs();
      const result = await next;
      onWait(elapsedMs() - from);
      if (result.done === true) return;
      next = pull(iterator);
      yield result.value;
    }
  } finally {
    await next.catch(() => {});
    await iterator.return?.();
  }
}

/**
 * Starts when the consumer has got the item before and waits for something itself: producing and
 * consuming then overlap.
 */
function pull<T>(iterator: AsyncIterator<T>): Promise<IteratorResult<T>> {
  const next = setImmediate().then(() => iterator.next());
  // A failure is seen when the item is awaited; until then it must not count as unhandled.
  next.catch(() => {});
  return next;
}
