/** Where traces and metrics are sent: exporters of one run, made from `observability.otel`. */
import type { OtelConfig, Signal } from '../../blocks/observability/schema.ts';
import type { Env } from '../../lib/env.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { LEFT_ALONE, type Outages } from '../../lib/outages.ts';

export const EXPORT_FAILURES = defineMetric({
  name: 'svc_otel_export_failures_total',
  type: 'counter',
  help: 'Exports to the collector that failed, by signal.',
  labels: ['signal'],
});

/**
 * Where a signal goes: with http the signal's own path below the endpoint, unless the endpoint has
 * it already.
 */
export function addressOf(
  { endpoint, protocol }: Pick<OtelConfig, 'endpoint' | 'protocol'>,
  signal: Signal,
): string {
  if (protocol === 'grpc') return endpoint ?? 'http://localhost:4317';
  const base = (endpoint ?? 'http://localhost:4318').replace(/\/+$/, '');
  return base.endsWith(`/v1/${signal}`) ? base : `${base}/v1/${signal}`;
}

async function settingsOf(config: OtelConfig, signal: Signal) {
  const reached = { url: addressOf(config, signal), timeoutMillis: config.timeout_secs * 1000 };
  if (config.protocol === 'http') return { ...reached, headers: config.headers };
  const { Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(config.headers)) metadata.set(name, value);
  return { ...reached, metadata };
}

export async function traceExporter(config: OtelConfig, services: ExportServices) {
  const settings = await settingsOf(config, 'traces');
  const { OTLPTraceExporter } =
    config.protocol === 'grpc'
      ? await import('@opentelemetry/exporter-trace-otlp-grpc')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return countingFailures(new OTLPTraceExporter(settings), {
    ...services,
    signal: 'traces',
    address: settings.url,
  });
}

export async function metricExporter(config: OtelConfig, services: ExportServices) {
  const settings = await settingsOf(config, 'metrics');
  const { OTLPMetricExporter } =
    config.protocol === 'grpc'
      ? await import('@opentelemetry/exporter-metrics-otlp-grpc')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  return countingFailures(new OTLPMetricExporter(settings), {
    ...services,
    signal: 'metrics',
    address: settings.url,
  });
}

export interface ExportServices {
  readonly env: Env;
  readonly outages: Outages;
}

const FAILED = 1;

interface ExportResult {
  /** 0 is success. */
  readonly code: number;
  readonly error?: Error | undefined;
}

/**
 * Counts what could not be sent and logs it once: an unavailable collector must not fill the log.
 */
function countingFailures<
  E extends { export(items: never, done: (result: ExportResult) => void): void },
>(
  exporter: E,
  {
    env,
    outages,
    signal,
    address,
  }: ExportServices & { readonly signal: Signal; readonly address: string },
): E {
  const send = exporter.export.bind(exporter);
  let isReported = false;
  const failed = (error: Error | undefined): void => {
    env.metrics.inc(EXPORT_FAILURES, { signal });
    if (!isReported)
      env.log.warn(`${signal} could not be sent to the collector`, {
        error: error?.message ?? 'unknown',
      });
    isReported = true;
  };
  exporter.export = (items: never, done: (result: ExportResult) => void) => {
    if (outages.isLeftAlone(address)) {
      const error = new Error(LEFT_ALONE);
      failed(error);
      return done({ code: FAILED, error });
    }
    const from = env.clock.elapsedMs();
    send(items, (result) => {
      if (result.code !== 0) {
        outages.failed(address, from);
        failed(result.error);
      }
      done(result);
    });
  };
  return exporter;
}
