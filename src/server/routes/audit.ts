import { z } from 'zod';
import { auditPageSchema } from '../../wire/audit.ts';
import { listLimit, timestamp } from '../http/query.ts';
import { defineRoute, json, type Route } from '../route.ts';

const auditQuery = z.strictObject({
  principal: z.string().optional().meta({ description: 'Exact principal.' }),
  action: z.string().optional().meta({ description: 'Exact action.' }),
  since: timestamp('At this time or later.'),
  until: timestamp('At this time or earlier.'),
  limit: listLimit('Entries at most', { max: 1000, fallback: 100 }),
});

const listAudit = defineRoute({
  method: 'GET',
  path: '/v1/audit',
  permission: 'audit_read',
  label: 'audit.list',
  tag: 'operations',
  summary: 'Read the audit log, newest first',
  query: auditQuery,
  uses: ['audit'],
  responses: {
    200: { description: 'Audited actions and denied attempts.', schema: auditPageSchema },
  },
  async handle({ query }, { audit }) {
    return json(200, { entries: await audit.list(query) });
  },
});

export const auditRoutes: readonly Route[] = [listAudit];
