import { z } from 'zod';
import { finding, integer, number, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { LOG_LEVELS } from '../../lib/log.ts';
import { headerFault } from '../../lib/http/outgoing-request.ts';

export const SIGNALS = ['traces', 'metrics'] as const;
export type Signal = (typeof SIGNALS)[number];

const endpoint = z.lazy(() =>
  text().superRefine((value, ctx) => {
    if (URL.canParse(value) && /^https?:/.test(value)) return;
    const hint = 'write it whole: `http://collector:4317`';
    ctx.addIssue(
      finding('invalid_value', `${JSON.stringify(value)} is not an http or https address`, {
        hint,
      }),
    );
  }),
);

/**
 * Why a header cannot be sent, without its value. Metadata of gRPC is narrower than headers of
 * HTTP, and has names for bytes.
 */
function faultOf(name: string, value: string, protocol: 'grpc' | 'http'): string | undefined {
  const fault = headerFault(name, value);
  if (fault !== undefined || protocol === 'http') return fault;
  const isText = /^[0-9a-z_.-]+$/i.test(name) && !/-bin$/i.test(name) && /^[ -~]*$/.test(value);
  return isText
    ? undefined
    : `${JSON.stringify(name)} is not metadata of gRPC that can be sent as text`;
}

const otelFields = z.lazy(() =>
  z.strictObject({
    endpoint: optional(endpoint).meta({
      description:
        'Collector; `http://localhost:4317` for grpc and `http://localhost:4318` for http when absent.',
    }),
    protocol: nullAsAbsent(z.enum(['grpc', 'http']).default('grpc')).meta({
      description: '`http` sends protobuf to `/v1/traces` and `/v1/metrics` below the endpoint.',
    }),
    headers: nullAsAbsent(z.record(z.string(), z.string()).default({})).meta({
      description: 'Sent with every export; of grpc, its metadata.',
      secret: true,
    }),
    sample_ratio: nullAsAbsent(number({ min: 0, max: 1 }).default(1)).meta({
      description: 'Share of the runs that are traced.',
    }),
    export: nullAsAbsent(
      z
        .array(z.enum(SIGNALS))
        .min(1)
        .default([...SIGNALS]),
    ).meta({ description: 'What is sent.' }),
    service_name: nullAsAbsent(text().default('svc')).meta({
      description: '`service.name` of what is sent.',
    }),
    timeout_secs: nullAsAbsent(integer({ min: 1, max: 3600 }).default(10)).meta({
      description: 'How long an export may take.',
    }),
    metric_interval_secs: nullAsAbsent(integer({ min: 1, max: 86_400 }).default(60)).meta({
      description:
        'How often metrics are sent; and once at the end. An export may not take longer than this either.',
    }),
  }),
);

const otel = z.lazy(() =>
  otelFields.superRefine(({ headers, protocol }, ctx) => {
    for (const [name, value] of Object.entries(headers)) {
      const fault = faultOf(name, value, protocol);
      if (fault !== undefined)
        ctx.addIssue(finding('invalid_value', fault, { path: ['headers', name] }));
    }
  }),
);
export type OtelConfig = z.infer<typeof otel>;

const LISTEN = /^(?:\[[0-9a-fA-F:]+\]|[^:\s[\]]+):(\d{1,5})$/;

const prometheus = z.lazy(() =>
  z.strictObject({
    listen: text()
      .superRefine((value, ctx) => {
        const port = Number(LISTEN.exec(value)?.[1] ?? Number.NaN);
        if (port <= 65_535) return;
        ctx.addIssue(
          finding('invalid_value', `${JSON.stringify(value)} is not an address to listen on`, {
            hint: 'write `host:port`, such as `127.0.0.1:9464`',
          }),
        );
      })
      .meta({
        description:
          '`host:port` at which `/metrics` answers while `run`, `schedule` or `backfill` runs.',
      }),
    buckets: optional(
      z
        .array(number({ min: 0 }))
        .min(1)
        .superRefine((bounds, ctx) => {
          const late = bounds.findIndex(
            (bound, index) => index > 0 && bound <= (bounds[index - 1] ?? 0),
          );
          if (late > 0)
            ctx.addIssue(
              finding('invalid_value', 'must be larger than the bound before', { path: [late] }),
            );
        }),
    ).meta({
      description: 'Upper bounds of the histograms, in seconds, from the smallest to the largest.',
    }),
  }),
);
export type PrometheusConfig = z.infer<typeof prometheus>;

export const observabilitySchema = z.lazy(() =>
  z.strictObject({
    otel: optional(otel).meta({
      description: 'Export over OpenTelemetry. A failed export never fails a run.',
    }),
    prometheus: optional(prometheus).meta({
      description: 'A listener of its own for metrics; `serve` has one anyway and leaves this out.',
    }),
    tracing: optional(
      z.strictObject({
        level: z.enum(LOG_LEVELS).meta({ description: 'Least important level to log.' }),
      }),
    ).meta({
      description:
        'How much is logged, where neither `--log-level` nor `HEADGATE_LOG` says; of a server, how much of the run.',
    }),
  }),
);
export type ObservabilityConfig = z.infer<typeof observabilitySchema>;
