import { rollbackReportSchema, rollbackRequestSchema } from '../../wire/rollback.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { runParams } from './runs.ts';

const rollbackRun = defineRoute({
  method: 'POST',
  path: '/v1/runs/{id}/rollback',
  permission: 'rollback',
  label: 'run.rollback',
  tag: 'runs',
  summary: 'Undo one invocation of a finished run',
  description:
    'Rows that the invocation added go, rows that it changed come back, and the next run reads again what was undone. ' +
    'Needs `rollback` in the document. When a later run changed the same keys nothing happens: the answer then says `blocked`.',
  params: runParams,
  body: rollbackRequestSchema,
  bodyOptional: true,
  uses: ['rollback', 'redactor'],
  responses: {
    200: {
      description: 'What was done, would be done, or stands in the way.',
      schema: rollbackReportSchema,
    },
  },
  refusals: ['conflict', 'unprocessable', 'unavailable'],
  async handle({ params, body, caller, signal }, { rollback, redactor }) {
    return json(
      200,
      redactor.json(await rollback({ runId: params.id, request: body, caller, signal })),
    );
  },
});

export const rollbackRoutes: readonly Route[] = [rollbackRun];
