/** For load balancers and scrapers: open to all, outside `/v1/` (spec 1, section 4.10). */
import { z } from 'zod';
import { defineRoute, empty, json, text, type Route } from '../route.ts';

const METRICS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  history_ok: z.boolean().meta({ description: 'False while the history backend is degraded.' }),
  queue_ok: z.boolean().meta({ description: 'False while the run queue is full.' }),
  cluster: z.object({ enabled: z.boolean(), instances: z.int() }),
});

const index = defineRoute({
  method: 'GET',
  path: '/',
  permission: 'public',
  label: 'index',
  tag: 'operations',
  summary: 'Name, version and where to go from here',
  responses: {
    200: {
      description: 'A few links.',
      schema: z.object({
        name: z.string(),
        version: z.string(),
        links: z.record(z.string(), z.string()),
      }),
    },
  },
  handle(_call, { version }) {
    const links = {
      api: '/openapi.json',
      runs: '/v1/runs',
      schemas: '/v1/schemas',
      health: '/healthz',
      readiness: '/readyz',
      metrics: '/metrics',
    };
    return json(200, { name: 'headgate', version, links });
  },
});

const healthz = defineRoute({
  method: 'GET',
  path: '/healthz',
  permission: 'public',
  label: 'healthz',
  tag: 'operations',
  summary: 'Is the process alive',
  responses: { 200: { description: 'It is.' } },
  handle: () => empty(200),
});

const readyz = defineRoute({
  method: 'GET',
  path: '/readyz',
  permission: 'public',
  label: 'readyz',
  tag: 'operations',
  summary: 'Can the server take work',
  responses: {
    200: { description: 'Yes.', schema: readinessSchema },
    503: {
      description:
        'Not now: the history is degraded, the queue is full, or the server is shutting down.',
      schema: readinessSchema,
    },
  },
  async handle(_call, { runs, clustered }) {
    const { historyOk, queueOk, draining, instances } = await runs.readiness();
    const ready = historyOk && queueOk && !draining;
    return json(ready ? 200 : 503, {
      status: ready ? 'ready' : 'not_ready',
      history_ok: historyOk,
      queue_ok: queueOk,
      cluster: { enabled: clustered === true, instances },
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
  responses: { 200: { description: 'Every series.', contentType: METRICS_TEXT } },
  async handle(_call, { metricsText }) {
    return text(METRICS_TEXT, await metricsText());
  },
});

export const healthRoutes: readonly Route[] = [index, healthz, readyz, metrics];
