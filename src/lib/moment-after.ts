const MOMENT_MS = 1000;

/**
 * For what has to be cleaned up after a stop, too: fires a moment after the signal, because a server
 * that does not answer is not waited for.
 */
export function momentAfter(signal: AbortSignal): AbortSignal {
  if (signal.aborted) return AbortSignal.timeout(MOMENT_MS);
  const later = new AbortController();
  const stop = (): void => {
    setTimeout(() => later.abort(signal.reason), MOMENT_MS).unref();
  };
  signal.addEventListener('abort', stop, { once: true });
  return later.signal;
}
