import { ConnectorError } from '../../lib/errors.ts';

/**
 * Fails when the next rows do not come in time; 0 waits forever. `heardAt` tells when the last rows
 * came (`performance`), where the work takes more than those that come at once.
 */
export async function withinSecs<T>(
  work: Promise<T>,
  secs: number,
  heardAt: () => number = () => 0,
  hint = 'raise `read_timeout_secs`',
): Promise<T> {
  if (secs === 0) return work;
  const late = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout;
  const wait = (ms: number): void => {
    timer = setTimeout(() => {
      const left = heardAt() + secs * 1000 - performance.now();
      if (left > 0) wait(left);
      else late.reject(new ConnectorError('timeout', `no rows came for ${secs} seconds`, { hint }));
    }, ms);
  };
  wait(secs * 1000);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer!);
  }
}
