/**
 * Failures that came after the last attempt of a request, as `resilience.retry` counts them, or of
 * what cannot be done again. Who repeats the whole of which the request is a part leaves them:
 * attempts would multiply.
 */
const spent = new WeakSet<Error>();

export function markSpent(error: Error): void {
  spent.add(error);
}

/** Also of what was made of such a failure on its way. */
export function isSpent(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (spent.has(at)) return true;
  return false;
}
