/** Errors of a job, passed from its worker to the caller. */
import { outcomeErrorOf } from '../../engine/failure.ts';
import { AppError, ConfigError, RefusedError } from '../../lib/errors.ts';
import type { Redactor } from '../../lib/redact.ts';
import type { JobFault } from '../../wire/job.ts';
import type { OutcomeError } from '../../wire/outcome.ts';

/** A job that failed for another reason than a document or a request that is refused. */
export class JobError extends AppError {
  readonly error: OutcomeError;

  constructor(error: OutcomeError) {
    super(error.code, error.message, error.hint === undefined ? {} : { hint: error.hint });
    this.error = error;
  }
}

export function faultOf(error: AppError, redactor: Redactor): JobFault {
  if (error instanceof ConfigError)
    return { family: 'config', issues: redactor.json(error.issues), stage: error.stage };
  if (error instanceof RefusedError) {
    const { code, hint, details } = error;
    return {
      family: 'refused',
      code,
      message: redactor.text(error.message),
      ...(hint === undefined ? {} : { hint: redactor.text(hint) }),
      ...(details === undefined ? {} : { details: redactor.json(details) }),
    };
  }
  if (error instanceof JobError) return { family: 'other', error: redactor.json(error.error) };
  return { family: 'other', error: outcomeErrorOf(error, redactor) };
}

/** For errors found while a job works: passed to the caller, whatever they are. */
export function failJob(error: unknown, redactor: Redactor): never {
  throw new JobError(outcomeErrorOf(error, redactor));
}

export function errorOf(fault: JobFault): AppError {
  switch (fault.family) {
    case 'config':
      return new ConfigError(fault.issues, { stage: fault.stage });
    case 'refused': {
      const { code, message, hint, details } = fault;
      return new RefusedError(code, message, {
        ...(hint === undefined ? {} : { hint }),
        ...(details === undefined ? {} : { details }),
      });
    }
    case 'other':
      return new JobError(fault.error);
    default:
      return fault satisfies never;
  }
}
