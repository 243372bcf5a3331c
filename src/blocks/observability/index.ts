import { defineBlock } from '../define-block.ts';
import { observabilitySchema, type ObservabilityConfig } from './schema.ts';

export const observabilityBlock = defineBlock<ObservabilityConfig>({
  name: 'observability',
  placement: 'top',
  description: 'Export of traces and metrics.',
  schema: observabilitySchema,
  examples: [
    { otel: { endpoint: 'http://collector:4317', service_name: 'orders' } },
    {
      otel: { protocol: 'http', export: ['metrics'], metric_interval_secs: 15 },
      tracing: { level: 'debug' },
    },
    { prometheus: { listen: '127.0.0.1:9464' } },
  ],
  plannedFor: 'plan',
});
