import { ConnectorError } from '../../lib/errors.ts';

export interface TimeLimit {
  readonly program: string;
  readonly seconds: number;
  /** What else it may need than more time. */
  readonly hint?: string | undefined;
}

/**
 * The work, or its failure, or a failure when its time has ended; `what` says what the program did
 * not do.
 */
export async function inTime<T>(
  work: Promise<T>,
  what: string,
  { program, seconds, hint }: TimeLimit,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(
      new ConnectorError('timeout', `the program \`${program}\` ${what} within ${seconds} s`, {
        hint: `see its log, or raise \`flush_timeout_secs\`${hint === undefined ? '' : `; ${hint}`}`,
      }),
    );
  }, seconds * 1000);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
