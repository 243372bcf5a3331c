/** What a submission says besides its document, checked. */
import { RefusedError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { parseRfc3339 } from '../../lib/time/rfc3339.ts';
import type { PlanSummary } from '../../wire/plan-summary.ts';
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

/** Rows that a warning names. */
const MOST_NAMED = 5;

/** What whoever runs the server should know of a document that was accepted. */
export function logWarnings(
  { warnings, repeating = [] }: PlanSummary,
  {
    log,
    runId,
    isShared,
  }: { readonly log: Log; readonly runId: string; readonly isShared: boolean },
): void {
  for (const { path, message } of warnings) log.warn(message, { run_id: runId, path });
  if (isShared && repeating.length > 0)
    log.warn(
      'records may be written a second time if the server of the run is lost; `write_mode: upsert` with a `key` makes that harmless',
      { run_id: runId, rows: repeating.slice(0, MOST_NAMED).join(', ') },
    );
}
