/** Exports spans and metrics of one run to the collectors of `observability`. */
import { hostname } from 'node:os';
import type { Resource } from '@opentelemetry/resources';
import type { OtelConfig } from '../../blocks/observability/schema.ts';
import type { RunObserver } from '../../engine/observe/observer.ts';
import type { Env } from '../../lib/env.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { loadClient } from '../../lib/load-client.ts';
import type { Outages } from '../../lib/outages.ts';
import { metricExporter, traceExporter, type ExportServices } from './collector.ts';
import { exportedMetrics } from './export-metrics.ts';
import { RunSpans } from './run-spans.ts';

/** Somebody who listens to a run and to what is measured meanwhile. */
export interface Listener {
  readonly observer: RunObserver;
  readonly metrics: Metrics;
}

interface Export extends ExportServices {
  readonly config: OtelConfig;
  readonly resource: Resource;
}

const SDK = { traces: '@opentelemetry/sdk-trace', metrics: '@opentelemetry/sdk-metrics' } as const;
const EXPORTER = {
  traces: '@opentelemetry/exporter-trace',
  metrics: '@opentelemetry/exporter-metrics',
} as const;

/** Sends until the run has ended, and then what is left. */
export function exportRun(
  config: OtelConfig,
  env: Env,
  outages: Outages,
): Promise<readonly Listener[]> {
  const transport =
    config.protocol === 'grpc'
      ? ['@grpc/grpc-js', ...config.export.map((signal) => `${EXPORTER[signal]}-otlp-grpc`)]
      : config.export.map((signal) => `${EXPORTER[signal]}-otlp-proto`);
  const packages = ['@opentelemetry/resources', ...config.export.map((signal) => SDK[signal])];
  return loadClient([...packages, ...transport].join(' '), () => exporters(config, env, outages));
}

async function exporters(
  config: OtelConfig,
  env: Env,
  outages: Outages,
): Promise<readonly Listener[]> {
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  // Of the process, not of the run: metrics of each run would be series of their own, and never end
  // to grow in number.
  const instance = `${hostname()}:${process.pid}`;
  const resource = resourceFromAttributes({
    'service.name': config.service_name,
    'service.instance.id': instance,
  });
  return Promise.all(
    config.export.map((signal) =>
      (signal === 'traces' ? traces : metrics)({ config, env, outages, resource }),
    ),
  );
}

async function traces({ config, env, outages, resource }: Export): Promise<Listener> {
  const { BatchSpanProcessor, TraceIdRatioBasedSampler, TracerProvider } =
    await import('@opentelemetry/sdk-trace');
  const provider = new TracerProvider({
    resource,
    sampler: new TraceIdRatioBasedSampler(config.sample_ratio),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: await traceExporter(config, { env, outages }),
        exportTimeoutMillis: config.timeout_secs * 1000,
      }),
    ],
  });
  const spans = new RunSpans(provider.getTracer('headgate'), env.clock);
  const observer: RunObserver = {
    name: 'traces',
    runStarted: (run) => spans.runStarted(run),
    rowStarted: (row) => spans.rowStarted(row),
    rowEnded: (row, outcome) => spans.rowEnded(row, outcome),
    runEnded: async (outcome) => {
      spans.runEnded(outcome);
      await provider.shutdown().catch(alreadyTold);
    },
  };
  return { observer, metrics: spans.metrics };
}

async function metrics({ config, env, outages, resource }: Export): Promise<Listener> {
  const { MeterProvider, PeriodicExportingMetricReader } =
    await import('@opentelemetry/sdk-metrics');
  const intervalMs = config.metric_interval_secs * 1000;
  const reader = new PeriodicExportingMetricReader({
    exporter: await metricExporter(config, { env, outages }),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(config.timeout_secs * 1000, intervalMs),
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  const observer: RunObserver = {
    name: 'metrics',
    runEnded: () => provider.shutdown().catch(alreadyTold),
  };
  return { observer, metrics: exportedMetrics(provider.getMeter('headgate')) };
}

/** The exporter has counted and logged what could not be sent. */
function alreadyTold(): void {}
