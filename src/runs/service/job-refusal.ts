import { RefusedError } from '../../lib/errors.ts';
import type { OutcomeError } from '../../wire/outcome.ts';

/** Whether others work on the same row, or began to do so. */
export function isInUse(code: string): boolean {
  return code === 'state_held' || code === 'state_lease_lost';
}

/**
 * Why a job gave no report, for its caller: 400 what the document says, 503 a store that does not
 * answer, 409 others that work on the row. An error without a refusal is a fault of the server.
 */
export function refusalOf(error: OutcomeError, word: string): Error {
  if (error.kind === 'Panic') return new Error(`the ${word} gave no report: ${error.message}`);
  const isConfig = ['bad_config', 'connector_missing'].includes(error.code);
  const other = isInUse(error.code) ? 'conflict' : 'unavailable';
  const code = isConfig || error.kind === 'Config' ? 'bad_config' : other;
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  return new RefusedError(code, error.message, hint);
}

/** The same, with 422 for what fails because of what the document is to do. */
export function failureOf(error: OutcomeError, word: string): Error {
  if (error.kind === 'Panic' || error.code === 'bad_config' || isInUse(error.code))
    return refusalOf(error, word);
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  return new RefusedError('unprocessable', error.message, hint);
}
