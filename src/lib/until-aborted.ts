/**
 * For clients that hear no signal: waits for the work, or rejects with the reason of the signal. The
 * work itself goes on, and its failure after that is nobody's.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  aborted.promise.catch(() => {});
  work.catch(() => {});
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
