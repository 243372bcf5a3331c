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
    'Deletes the records that the invocation added and restores those that it changed; the next run reads them again. ' +
    'Needs `rollback` in the document. When a later run changed the same records nothing is undone, and the answer says `blocked`.',
  params: runParams,
  body: rollbackRequestSchema,
  bodyOptional: true,
  uses: ['rollback', 'redactor'],
  responses: {
    200: {
      description: 'What was done, what would be done, or what prevents it.',
      schema: rollbackReportSchema,
    },
  },
  refusals: ['conflict', 'unprocessable'],
  async handle({ params, body, caller, signal }, { rollback, redactor }) {
    return json(
      200,
      redactor.json(await rollback({ runId: params.id, request: body, caller, signal })),
    );
  },
});

export const rollbackRoutes: readonly Route[] = [rollbackRun];
