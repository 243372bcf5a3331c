import {
  documentPlanSchema,
  planRequestSchema,
  rerunReceiptSchema,
  rerunRequestSchema,
  runPlanSchema,
} from '../../wire/rerun.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { runParams } from './runs.ts';

const rerunRun = defineRoute({
  method: 'POST',
  path: '/v1/runs/{id}/rerun',
  permission: 'run_write',
  label: 'run.rerun',
  tag: 'runs',
  summary: 'Run an ended run again',
  description:
    'Submits the same document, over the default document that the run had, with the settings, labels and parameters of the run. ' +
    'The label `rerun_of` of the new run names the old one. Secret values that the run was given are not stored: a 422 names those that have to be given again. ' +
    'Its idempotency key and its callback are not used again.',
  params: runParams,
  body: rerunRequestSchema,
  bodyOptional: true,
  uses: ['rerun'],
  responses: { 202: { description: 'The new run is queued.', schema: rerunReceiptSchema } },
  refusals: ['conflict', 'unprocessable', 'queue_full'],
  async handle({ params, body, caller }, { rerun }) {
    return json(202, await rerun(params.id, body, caller));
  },
});

const getPlan = defineRoute({
  method: 'GET',
  path: '/v1/runs/{id}/plan',
  permission: 'run_read',
  label: 'run.plan',
  tag: 'runs',
  summary: 'Read the plan of a run',
  description:
    'The document of the run is planned as it was for the run. Tokens of secrets stay as they are written: nobody is asked for one.',
  params: runParams,
  uses: ['runPlan', 'redactor'],
  responses: { 200: { description: 'How each row runs, and why.', schema: runPlanSchema } },
  refusals: ['unprocessable', 'queue_full'],
  async handle({ params, signal }, { runPlan, redactor }) {
    return json(200, redactor.json(await runPlan(params.id, signal)));
  },
});

const planDocument = defineRoute({
  method: 'POST',
  path: '/v1/plan',
  permission: 'doctor',
  label: 'plan',
  tag: 'operations',
  summary: 'Check a document and plan it, without running it',
  description:
    'Problems of the document are a 400 or 422 with all of them, and their places, in `error.details.issues`. Nothing is contacted, and tokens of secrets stay as they are written.',
  body: planRequestSchema,
  uses: ['documentPlan', 'redactor'],
  responses: {
    200: { description: 'How each row would run, and why.', schema: documentPlanSchema },
  },
  refusals: ['unprocessable', 'queue_full'],
  async handle({ body, signal }, { documentPlan, redactor }) {
    return json(200, redactor.json(await documentPlan(body, signal)));
  },
});

export const rerunRoutes: readonly Route[] = [rerunRun, getPlan, planDocument];
