import { reloadReportSchema } from '../../wire/reload.ts';
import { defineRoute, json, type Route } from '../route.ts';

const reloadSettings = defineRoute({
  method: 'POST',
  path: '/v1/reload',
  permission: 'reload',
  label: 'config.reload',
  tag: 'operations',
  summary: 'Read the settings files again',
  description:
    'Reads the default document, the file of principals, the file of triggers and the folder of schedules again, as SIGHUP does. When one of them has a fault all of them stay as they were. ' +
    'Runs in progress keep what they were started with.',
  uses: ['reload'],
  responses: { 200: { description: 'What was read again.', schema: reloadReportSchema } },
  refusals: ['unprocessable'],
  async handle({ caller }, { reload }) {
    return json(200, await reload(caller));
  },
});

export const reloadRoutes: readonly Route[] = [reloadSettings];
