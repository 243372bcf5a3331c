/** Runs: submit, list, read, cancel, delete. */
import { z } from 'zod';
import { RUN_STATUSES } from '../../wire/run-status.ts';
import {
  runPageSchema,
  runRecordSchema,
  submissionReceiptSchema,
  submissionSchema,
} from '../../wire/run.ts';
import { commaList, listLimit, timestamp } from '../http/query.ts';
import { defineRoute, empty, json, type Route } from '../route.ts';

export const runParams = z.strictObject({
  id: z
    .string()
    .regex(/^[\w.:-]{1,200}$/)
    .meta({ description: 'Run id.' }),
});

const submitRun = defineRoute({
  method: 'POST',
  path: '/v1/runs',
  permission: 'run_write',
  label: 'run.submit',
  tag: 'runs',
  summary: 'Submit a run',
  description:
    'Validates the document, queues a run and answers at once. A known idempotency key answers with the run it belongs to.',
  body: submissionSchema,
  uses: ['runs'],
  responses: {
    202: {
      description: 'The run is queued, or the key already had one.',
      schema: submissionReceiptSchema,
    },
  },
  refusals: ['not_found', 'conflict', 'unprocessable', 'queue_full'],
  async handle({ body, caller }, { runs }) {
    return json(202, await runs.submit(body, caller));
  },
});

const listQuery = z.strictObject({
  status: commaList(RUN_STATUSES).meta({
    description: 'Comma-separated statuses; absent means all.',
  }),
  name: z.string().optional().meta({ description: 'Exact name of the run.' }),
  since: timestamp('Submitted at this time or later.'),
  until: timestamp('Submitted at this time or earlier.'),
  limit: listLimit('Runs on a page', { max: 500, fallback: 50 }),
  cursor: z.string().optional().meta({ description: '`next_cursor` of the page before.' }),
});

const listRuns = defineRoute({
  method: 'GET',
  path: '/v1/runs',
  permission: 'run_read',
  label: 'run.list',
  tag: 'runs',
  summary: 'List runs, newest first',
  query: listQuery,
  uses: ['runs'],
  responses: { 200: { description: 'One page of runs.', schema: runPageSchema } },
  async handle({ query }, { runs }) {
    return json(200, await runs.list(query));
  },
});

const getRun = defineRoute({
  method: 'GET',
  path: '/v1/runs/{id}',
  permission: 'run_read',
  label: 'run.get',
  tag: 'runs',
  summary: 'Read a run',
  params: runParams,
  uses: ['runs'],
  responses: { 200: { description: 'The run.', schema: runRecordSchema } },
  async handle({ params }, { runs }) {
    return json(200, await runs.get(params.id));
  },
});

const deleteRun = defineRoute({
  method: 'DELETE',
  path: '/v1/runs/{id}',
  permission: 'run_write',
  label: 'run.delete',
  tag: 'runs',
  summary: 'Delete a finished run from the history',
  params: runParams,
  uses: ['runs'],
  responses: { 204: { description: 'The run is gone.' } },
  refusals: ['conflict'],
  async handle({ params, caller }, { runs }) {
    await runs.delete(params.id, caller);
    return empty(204);
  },
});

const cancelRun = defineRoute({
  method: 'POST',
  path: '/v1/runs/{id}/cancel',
  permission: 'run_write',
  label: 'run.cancel',
  tag: 'runs',
  summary: 'Cancel a run',
  params: runParams,
  uses: ['runs'],
  responses: {
    202: { description: 'The run has been asked to stop.' },
    200: { description: 'The run had already ended.' },
  },
  async handle({ params, caller }, { runs }) {
    return empty((await runs.cancel(params.id, caller)) === 'requested' ? 202 : 200);
  },
});

export const runRoutes: readonly Route[] = [submitRun, listRuns, getRun, deleteRun, cancelRun];
