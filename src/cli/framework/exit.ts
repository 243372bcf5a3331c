import { AppError, ConfigError, RefusedError } from '../../lib/errors.ts';

/** Every exit code of the command line. */
export const EXIT = Object.freeze({
  ok: 0,
  /** The document, the run or the command failed; also `fmt --check` with something to do. */
  failed: 1,
  /** The command line itself cannot be understood. */
  usage: 2,
  interrupted: 130,
  terminated: 143,
});

/** Commands that count failures (`doctor`) report the count; a shell sees at most 255. */
export function countedExit(failures: number): number {
  return Math.min(failures, 255);
}

export function signalExit(signal: NodeJS.Signals): number {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}

const USAGE_CODES: ReadonlySet<string> = new Set(['usage', 'bad_option', 'not_available']);

export function exitOf(error: unknown): number {
  if (error instanceof ConfigError || error instanceof RefusedError) return EXIT.failed;
  if (error instanceof AppError && error.code === 'cancelled') return EXIT.interrupted;
  return error instanceof AppError && USAGE_CODES.has(error.code) ? EXIT.usage : EXIT.failed;
}

/** The command line cannot be understood. */
export function usageError(message: string, hint?: string): AppError {
  return new AppError('usage', message, hint === undefined ? {} : { hint });
}
