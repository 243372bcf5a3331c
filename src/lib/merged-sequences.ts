/**
 * Reads several sequences, at most `width` at a time, each with one item in flight. In order when
 * `width` is 1. `abandon` is called when the others are no longer needed; it must end their items in
 * flight soon.
 */
export async function* mergedSequences<T>(
  sequences: Iterable<() => AsyncGenerator<T>>,
  width: number,
  abandon: () => void,
): AsyncGenerator<T> {
  if (width <= 1) {
    for (const open of sequences) yield* open();
    return;
  }
  const waiting = sequences[Symbol.iterator]();
  const running = new Map<AsyncGenerator<T>, Promise<Step<T>>>();
  const advance = (sequence: AsyncGenerator<T>): void => {
    running.set(sequence, stepOf(sequence));
  };
  const startNext = (): void => {
    const next = waiting.next();
    if (next.done !== true) advance(next.value());
  };
  for (let started = 0; started < width; started += 1) startNext();
  try {
    while (running.size > 0) {
      const step = await Promise.race(running.values());
      if ('error' in step) throw step.error;
      if (step.result.done === true) {
        running.delete(step.sequence);
        startNext();
      } else {
        advance(step.sequence);
        yield step.result.value;
      }
    }
  } finally {
    abandon();
    await Promise.all(
      [...running].map(([sequence, pending]) => pending.then(() => sequence.return(undefined))),
    );
  }
}

type Step<T> =
  | { readonly sequence: AsyncGenerator<T>; readonly result: IteratorResult<T> }
  | { readonly sequence: AsyncGenerator<T>; readonly error: unknown };

/** Never rejects, so that a failure is neither lost nor reported twice before it is awaited. */
async function stepOf<T>(sequence: AsyncGenerator<T>): Promise<Step<T>> {
  try {
    return { sequence, result: await sequence.next() };
  } catch (error) {
    return { sequence, error };
  }
}
