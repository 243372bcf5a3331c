/** What a submission says besides its document, checked. */
import { RefusedError } from '../lib/errors.ts';
import type { Submission } from '../wire/run.ts';
import { validateCallback, type CallbackRules } from './callback-rules.ts';

/** Throws `unprocessable`. */
export function checkSettings(submission: Submission, callbacks: CallbackRules): void {
  const { clock, concurrency, callback } = submission;
  if (clock != null && parseClock(clock) === undefined) {
    throw new RefusedError('unprocessable', `clock: ${JSON.stringify(clock)} is not an RFC 3339 time`, {
      hint: 'for example 2026-08-01T12:00:00Z',
    });
  }
  if (concurrency != null && concurrency < 1) {
    throw new RefusedError('unprocessable', `concurrency is a count of parallel requests: it must be at least 1, got ${concurrency}`);
  }
  if (callback != null) validateCallback(callback, callbacks);
}

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+-]\d{2}:\d{2})$/;

export function parseClock(text: string): Date | undefined {
  const [, day = '', time = '', zone = ''] = RFC3339.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  // Without this, the 31st of a month of thirty days would quietly be the first of the next.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  const instant = new Date(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}
