import { ConnectorError } from '../../lib/errors.ts';

/** Fails when the next rows do not come in time; 0 waits forever. */
export async function withinSecs<T>(work: Promise<T>, secs: number): Promise<T> {
  if (secs === 0) return work;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new ConnectorError('timeout', `no rows came for ${secs} seconds`, {
          hint: 'raise `read_timeout_secs`',
        }),
      ),
    secs * 1000,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
