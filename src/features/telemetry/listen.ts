/**
 * `observability.prometheus`: metrics of a command at a listener of its own, for as long as the
 * command runs.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { PrometheusConfig } from '../../blocks/observability/schema.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { createRegistry } from '../../lib/metrics/prometheus.ts';
import { programVersion } from '../../lib/version.ts';

export interface MetricsListener extends AsyncDisposable {
  readonly metrics: Metrics;
  /** Where it listens; the port when the document asked for any. */
  readonly port: number;
}

/** Throws `AppError` when the address cannot be listened on. */
export async function listenForScrapes({
  listen,
  buckets,
}: PrometheusConfig): Promise<MetricsListener> {
  const registry = createRegistry([], { version: programVersion(), buckets });
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    void registry
      .render()
      .then((text) =>
        response
          .writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
          .end(text),
      );
  });
  const colon = listen.lastIndexOf(':');
  server.listen({
    host: listen.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(listen.slice(colon + 1)),
  });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new AppError(
      'listen_failed',
      `metrics cannot be served at ${listen}: ${messageOf(error)}`,
      {
        hint: 'change `observability.prometheus.listen`',
        cause: error,
      },
    );
  }
  // A scraper that holds its connection must not keep the command.
  server.unref();
  const address = server.address();
  return {
    metrics: registry.metrics,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
