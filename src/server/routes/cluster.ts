import { clusterStatusSchema } from '../../wire/cluster.ts';
import { defineRoute, json, type Route } from '../route.ts';

const clusterStatus = defineRoute({
  method: 'GET',
  path: '/v1/cluster',
  permission: 'run_read',
  label: 'cluster.status',
  tag: 'operations',
  summary: 'The servers that share the queue',
  description:
    'Every server of a cluster gives the same list. A server that works alone has no members.',
  uses: ['runs'],
  responses: { 200: { description: 'The members.', schema: clusterStatusSchema } },
  async handle(_call, { runs }) {
    return json(200, await runs.clusterStatus());
  },
});

export const clusterRoutes: readonly Route[] = [clusterStatus];
