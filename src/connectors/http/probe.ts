import type { SinkContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, ConnectorError, messageOf } from '../../lib/errors.ts';
import { openConnections } from '../_http/connections.ts';
import type { HttpConfig } from './config.ts';
import { httpSinkClient } from './sink.ts';

/**
 * `network`: any HTTP answer to a HEAD request means that the other side is there. Nothing is
 * written.
 */
export async function probeHttpSink(
  config: HttpConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const connections = await openConnections(
    { connectTimeoutMs: config.connect_timeout * 1000 },
    context.env,
  );
  try {
    await httpSinkClient({ ...config, max_retries: 0 }, context, connections).send({
      method: 'HEAD',
      url: config.url,
    });
    return [{ name: 'network', status: 'pass' }];
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ConnectorError && error.status !== undefined)
      return [{ name: 'network', status: 'pass' }];
    const hint = error instanceof AppError ? error.hint : undefined;
    return [
      {
        name: 'network',
        status: 'fail',
        reason: messageOf(error),
        ...(hint === undefined ? {} : { hint }),
      },
    ];
  } finally {
    await connections.close();
  }
}
