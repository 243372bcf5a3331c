import { AppError, ConfigError, messageOf } from '../../lib/errors.ts';
import type { CliContext } from './context.ts';

/** Why nothing was done, for a program that asked for JSON. */
export function printRefusal(
  { terminal, env }: Pick<CliContext, 'terminal' | 'env'>,
  error: unknown,
  form: 'json' | 'ndjson',
): void {
  const { code, hint } = error instanceof AppError ? error : { code: 'internal' };
  const message = env.redactor.text(messageOf(error));
  const refusal = {
    status: 'failed',
    error: { code, message, ...(hint === undefined ? {} : { hint }) },
    ...(error instanceof ConfigError ? { issues: error.issues } : {}),
  };
  if (form === 'json') terminal.json(refusal);
  else terminal.jsonLine(refusal);
}
