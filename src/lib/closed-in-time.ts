const CLOSE_MS = 500;

/** Ends what says goodbye to a server. One that does not answer is not waited for. */
export async function closedInTime(close: () => Promise<unknown>): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = setTimeout(limit.resolve, CLOSE_MS);
  await Promise.race([close().catch(() => {}), limit.promise]);
  clearTimeout(timer);
}
