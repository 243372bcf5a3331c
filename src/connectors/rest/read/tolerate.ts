import { ConnectorError } from '../../../lib/errors.ts';
import type { RestSetup } from '../request/setup.ts';

/**
 * Sends the first request of a result; `undefined` for a status in `tolerated_http_errors`, which
 * means that there is nothing.
 */
export async function tolerating<T>(
  { config, context }: RestSetup,
  send: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await send();
  } catch (error) {
    const status = error instanceof ConnectorError ? error.status : undefined;
    if (status === undefined || !config.tolerated_http_errors.includes(status)) throw error;
    context.env.log.info('the status is tolerated: there is nothing here', { status });
    return undefined;
  }
}
