import { ConnectorError } from './errors.ts';

/** Of clients that hear no signal: what they do is not waited for after it has fired. */
export async function untilStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(new ConnectorError('connection', 'the look was stopped'));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  stopped.promise.catch(() => {});
  work.catch(() => {});
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
