/** For load balancers and scrapers: open to all, outside `/v1/`. */
import { z } from 'zod';
import { triggerHealthSchema } from '../../wire/triggers.ts';
import { defineRoute, empty, json, text, type Route } from '../route.ts';

const METRICS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  history_ok: z.boolean().meta({ description: 'False while the history backend is degraded.' }),
  queue_ok: z.boolean().meta({ description: 'False while the run queue is full.' }),
  cluster: z.object({ enabled: z.boolean(), instances: z.int() }),
  triggers: z
    .array(triggerHealthSchema)
    .optional()
    .meta({ description: 'Those that are switched on, where the server has a file of triggers.' }),
});

const healthz = defineRoute({
  method: 'GET',
  path: '/healthz',
  permission: 'public',
  label: 'healthz',
  tag: 'operations',
  summary: 'Whether the process is alive',
  responses: { 200: { description: 'It is alive.' } },
  handle: () => empty(200),
});

const readyz = defineRoute({
  method: 'GET',
  path: '/readyz',
  permission: 'public',
  label: 'readyz',
  tag: 'operations',
  summary: 'Whether the server accepts work',
  uses: ['runs', 'clustered', 'triggers'],
  responses: {
    200: { description: 'Yes.', schema: readinessSchema },
    503: {
      description:
        'Not now: the history is degraded, the queue is full, or the server is shutting down.',
      schema: readinessSchema,
    },
  },
  async handle(_call, { runs, clustered, triggers }) {
    const { historyOk, queueOk, draining, instances } = await runs.readiness();
    const health = triggers.health();
    const ready = historyOk && queueOk && !draining;
    return json(ready ? 200 : 503, {
      status: ready ? 'ready' : 'not_ready',
      history_ok: historyOk,
      queue_ok: queueOk,
      cluster: { enabled: clustered, instances },
      ...(health === undefined ? {} : { triggers: health }),
    });
  },
});

const metrics = defineRoute({
  method: 'GET',
  path: '/metrics',
  permission: 'public',
  label: 'metrics',
  tag: 'operations',
  summary: 'Measurements in the Prometheus text format',
  uses: ['metricsText'],
  responses: { 200: { description: 'Every series.', contentType: METRICS_TEXT } },
  async handle(_call, { metricsText }) {
    return text(METRICS_TEXT, await metricsText());
  },
});

export const healthRoutes: readonly Route[] = [healthz, readyz, metrics];
