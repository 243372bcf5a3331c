/** Backfills. */
import { backfillReceiptSchema, backfillRequestSchema } from '../../wire/backfill.ts';
import { defineRoute, json, type Route } from '../route.ts';

const submitBackfill = defineRoute({
  method: 'POST',
  path: '/v1/backfill',
  permission: 'run_write',
  label: 'backfill.submit',
  tag: 'runs',
  summary: 'Run a past time range again, one run for each window',
  description:
    'Splits the range into windows and submits a run for each. The request may be repeated: a window is not submitted twice, ' +
    'and windows that did not fit into the queue are submitted then.',
  body: backfillRequestSchema,
  uses: ['backfill'],
  responses: {
    202: { description: 'What was submitted, window by window.', schema: backfillReceiptSchema },
  },
  refusals: ['not_found', 'conflict', 'unprocessable'],
  async handle({ body, caller }, { backfill }) {
    return json(202, await backfill(body, caller));
  },
});

export const backfillRoutes: readonly Route[] = [submitBackfill];
