/** Turns errors of parts into the errors of a run. */
import {
  AppError,
  ConfigError,
  ConnectorError,
  RecordError,
  RunError,
  StopReason,
  messageOf,
  type ErrorKind,
} from '../lib/errors.ts';
import type { Redactor } from '../lib/redact.ts';
import type { OutcomeError } from '../wire/outcome.ts';
import { cureOf } from '../wire/run-codes.ts';

export type Place = 'Source' | 'Sink' | 'State';

/** Adds place and part type to a connector's error; every other error is returned as it is. */
export function wrapConnectorError(place: Place, type: string, error: unknown): unknown {
  if (!(error instanceof ConnectorError)) return error;
  const message = `${place.toLowerCase()} \`${type}\`: ${error.message}`;
  const { hint, record: index } = error;
  return new RunError(kindOf(error, place), error.code, message, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
    ...(index === undefined ? {} : { index }),
  });
}

function kindOf(error: ConnectorError, place: Place): ErrorKind {
  switch (error.kind) {
    case 'auth':
      return 'Auth';
    case 'rate_limited':
      return 'RateLimited';
    case 'http_5xx':
      return 'HttpStatus';
    default:
      return place;
  }
}

/** The connector's own error below what the engine added, for deciding on a retry. */
export function connectorErrorOf(error: unknown): ConnectorError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ConnectorError) return at;
  }
  return undefined;
}

/** Databases tell it in an error of their own. */
function isOverflow(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof RangeError && at.message.startsWith('Maximum call stack')) return true;
  return false;
}

/** What a record is too deep for shows as an overflow somewhere; any other error stays as it is. */
export function withoutOverflow(error: unknown): unknown {
  if (!isOverflow(error)) return error;
  const message = 'a record is nested too deeply: it has thousands of levels';
  return new RunError('Source', 'connector_data', message, {
    hint: 'take the record out of the source, or flatten it before it is read',
    cause: error,
  });
}

export function outcomeErrorOf(failure: unknown, redactor: Redactor): OutcomeError {
  const error = withoutOverflow(failure);
  const { code, kind } = codeAndKind(error);
  const outcome = {
    code,
    kind,
    message: redactor.text(
      kind === 'Panic' ? `unexpected failure: ${messageOf(error)}` : messageOf(error),
    ),
  };
  const hint = (error instanceof AppError ? error.hint : undefined) ?? cureOf(code);
  return hint === undefined ? outcome : { ...outcome, hint: redactor.text(hint) };
}

function codeAndKind(error: unknown): { code: string; kind: ErrorKind } {
  if (error instanceof RunError || error instanceof RecordError)
    return { code: error.code, kind: error.kind };
  if (error instanceof ConfigError) return { code: error.code, kind: 'Config' };
  if (error instanceof StopReason) return { code: error.code, kind: 'Custom' };
  if (error instanceof AppError) return { code: error.code, kind: 'Custom' };
  return { code: 'internal', kind: 'Panic' };
}
