import { z } from 'zod';
import { PERMISSIONS, permissionsOf, ROLES } from '../auth/permissions.ts';
import { defineRoute, json, type Route } from '../route.ts';

const whoami = defineRoute({
  method: 'GET',
  path: '/v1/whoami',
  permission: 'identity',
  label: 'whoami',
  tag: 'operations',
  summary: 'Who the caller is, and what it may do',
  responses: {
    200: {
      description: 'The caller.',
      schema: z.object({
        principal: z.string(),
        role: z.enum(ROLES),
        permissions: z.array(z.enum(PERMISSIONS)),
      }),
    },
  },
  handle({ principal }) {
    return json(200, {
      principal: principal.name,
      role: principal.role,
      permissions: permissionsOf(principal.role),
    });
  },
});

export const identityRoutes: readonly Route[] = [whoami];
