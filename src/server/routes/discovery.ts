import { discoverRequestSchema, discoveryReportSchema } from '../../wire/discovery.ts';
import { defineRoute, json, type Route } from '../route.ts';

const discoverDataSets = defineRoute({
  method: 'POST',
  path: '/v1/discover',
  permission: 'doctor',
  label: 'discover',
  tag: 'operations',
  summary: 'List the tables, collections or files of a source',
  description:
    'Asks the source of a document; what names one data set, like `query`, may be left out, and nothing else of the document has to be complete. No record is read. Each data set comes with the row of the matrix that moves it.',
  body: discoverRequestSchema,
  uses: ['discovery', 'redactor'],
  responses: { 200: { description: 'The data sets.', schema: discoveryReportSchema } },
  refusals: ['unprocessable', 'queue_full'],
  async handle({ body, signal }, { discovery, redactor }) {
    return json(200, redactor.json(await discovery(body, signal)));
  },
});

export const discoveryRoutes: readonly Route[] = [discoverDataSets];
