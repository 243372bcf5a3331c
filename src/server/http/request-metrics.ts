import { DEFAULT_BUCKETS, defineMetric, type Metrics } from '../../lib/metrics/metrics.ts';

/**
 * Path label of requests that match no route. The requested path itself would make unlimited label
 * values.
 */
export const UNMATCHED = '<unmatched>';

export const requestsTotal = defineMetric({
  name: 'svc_serve_requests_total',
  type: 'counter',
  help: 'HTTP requests answered, by route template.',
  labels: ['method', 'path', 'status'],
});

export const requestDuration = defineMetric({
  name: 'svc_serve_request_duration_seconds',
  type: 'histogram',
  help: 'Time from the request line to the last byte of the answer.',
  labels: ['method', 'path'],
  buckets: DEFAULT_BUCKETS,
});

export interface CountedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly seconds: number;
}

export function countRequest(
  metrics: Metrics,
  { method, path, status, seconds }: CountedRequest,
): void {
  metrics.inc(requestsTotal, { method, path, status });
  metrics.observe(requestDuration, { method, path }, seconds);
}
