/**
 * Settles as `work` does, or rejects with the signal's reason as soon as it fires; `cancel` then
 * ends the work behind it.
 */
export async function untilAborted<T>(
  work: Promise<T>,
  { signal, cancel }: { signal?: AbortSignal | undefined; cancel: () => Promise<void> },
): Promise<T> {
  if (signal === undefined) return work;
  work.catch(() => {});
  if (signal.aborted) {
    await cancel();
    throw signal.reason;
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      cancel().then(
        () => reject(signal.reason as Error),
        () => reject(signal.reason as Error),
      );
    };
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, (error: unknown) => {
      if (!signal.aborted) reject(error);
    });
    void work.then(
      () => signal.removeEventListener('abort', onAbort),
      () => signal.removeEventListener('abort', onAbort),
    );
  });
}
