/** Errors as messages between threads: structured clone would lose their class. */
import {
  AppError,
  messageOf,
  RecordError,
  RunError,
  type ErrorKind,
  type FieldFault,
} from '../../lib/errors.ts';

export interface FailureMessage {
  readonly family: 'run' | 'record' | 'unexpected';
  readonly kind: ErrorKind;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** Of a record. */
  readonly fault?: FieldFault;
  readonly index?: number;
  readonly stack?: string;
}

export function failureMessageOf(error: unknown): FailureMessage {
  const message = messageOf(error);
  if (error instanceof RunError || error instanceof RecordError) {
    const { kind, code, hint } = error;
    return {
      family: error instanceof RunError ? 'run' : 'record',
      kind,
      code,
      message,
      ...(hint === undefined ? {} : { hint }),
      ...detailsOf(error),
    };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  const code = error instanceof AppError ? error.code : '';
  return {
    family: 'unexpected',
    kind: 'Panic',
    code,
    message,
    ...(stack === undefined ? {} : { stack }),
  };
}

function detailsOf(error: RecordError | RunError) {
  const { index } = error;
  const fault = error instanceof RecordError ? error.fault : undefined;
  return { ...(fault === undefined ? {} : { fault }), ...(index === undefined ? {} : { index }) };
}

export function failureOf(failure: FailureMessage): Error {
  const { family, kind, code, message, hint, stack, fault, index } = failure;
  const options = hint === undefined ? {} : { hint };
  if (family === 'run')
    return new RunError(kind, code, message, {
      ...options,
      ...(index === undefined ? {} : { index }),
    });
  if (family === 'record')
    return new RecordError(kind, message, {
      ...options,
      ...(fault === undefined ? {} : { fault }),
      ...(index === undefined ? {} : { index }),
    });
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
