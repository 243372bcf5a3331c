import { RefusedError } from '../../lib/errors.ts';
import type { OutcomeError } from '../../wire/outcome.ts';

/**
 * Why a job gave no report, for its caller: 400 what the document says, 503 a store that does not
 * answer. An error without a refusal is a fault of the server.
 */
export function refusalOf(error: OutcomeError, word: string): Error {
  if (error.kind === 'Panic') return new Error(`the ${word} gave no report: ${error.message}`);
  const isConfig = ['bad_config', 'connector_missing'].includes(error.code);
  const code = isConfig || error.kind === 'Config' ? 'bad_config' : 'unavailable';
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  return new RefusedError(code, error.message, hint);
}

/** The same for what fails because of what the document is to do: 422. */
export function failureOf(error: OutcomeError, word: string): Error {
  if (error.kind === 'Panic' || error.code === 'bad_config') return refusalOf(error, word);
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  return new RefusedError('unprocessable', error.message, hint);
}
