/** What a submission says besides its document, checked. */
import { RefusedError } from '../../lib/errors.ts';
import { parseRfc3339 } from '../../lib/time/rfc3339.ts';
import { MAX_CONCURRENCY } from '../../wire/run-status.ts';
import type { Submission } from '../../wire/run.ts';
import { validateCallback, type CallbackRules } from '../callbacks/callback-rules.ts';

/** Throws `unprocessable`. */
export function checkSettings(submission: Submission, callbacks: CallbackRules): void {
  const { clock, concurrency, callback } = submission;
  if (clock != null && parseRfc3339(clock) === undefined) {
    throw new RefusedError(
      'unprocessable',
      `clock: ${JSON.stringify(clock)} is not an RFC 3339 time`,
      {
        hint: 'for example 2026-08-01T12:00:00Z',
      },
    );
  }
  if (concurrency != null && concurrency < 1) {
    throw new RefusedError(
      'unprocessable',
      `concurrency is a count of parallel requests: it must be at least 1, got ${concurrency}`,
    );
  }
  if (concurrency != null && concurrency > MAX_CONCURRENCY) {
    throw new RefusedError(
      'unprocessable',
      `concurrency is a count of parallel requests: it must be at most ${MAX_CONCURRENCY}, got ${concurrency}`,
    );
  }
  if (callback != null) validateCallback(callback, callbacks);
}
