/** Triggers: fire one, and see what they do. */
import { z } from 'zod';
import { submissionReceiptSchema } from '../../wire/run.ts';
import { coalescedSchema, triggerListSchema } from '../../wire/triggers.ts';
import { defineRoute, json, type HttpMethod, type Route } from '../route.ts';

const triggerParams = z.strictObject({
  name: z.string().min(1).max(200).meta({ description: 'Name of a webhook trigger.' }),
});

const listTriggers = defineRoute({
  method: 'GET',
  path: '/v1/triggers',
  permission: 'run_read',
  label: 'trigger.list',
  tag: 'triggers',
  summary: 'List triggers',
  description: 'All of the file of triggers, with what they did last; none without such a file.',
  uses: ['triggers'],
  responses: { 200: { description: 'The triggers.', schema: triggerListSchema } },
  handle: (_call, { triggers }) => json(200, { triggers: triggers.list() }),
});

const fireTrigger = (method: HttpMethod & ('POST' | 'PUT')): Route =>
  defineRoute({
    method,
    path: '/v1/triggers/{name}',
    permission: 'trigger_fire',
    label: 'trigger.fire',
    tag: 'triggers',
    summary: 'Fire a webhook trigger',
    description:
      'The body may be anything; the run sees it as `${trigger.body}`. A method that the trigger does not take is a 400. ' +
      'Where the trigger checks signatures instead of tokens, no bearer token is needed.',
    params: triggerParams,
    uses: ['triggers'],
    anyBody: true,
    isOpenTo: ({ name = '' }, { triggers }) => triggers.needsNoToken(name),
    responses: {
      202: { description: 'The run is queued, or was before.', schema: submissionReceiptSchema },
      200: { description: 'The request has no run of its own.', schema: coalescedSchema },
    },
    refusals: ['unprocessable', 'queue_full'],
    async handle({ params, caller, raw, isNobody, signal }, { triggers }) {
      const receipt = await triggers.fire(params.name, {
        request: raw,
        sourceIp: caller.sourceIp,
        caller: isNobody ? undefined : caller,
        signal,
      });
      return receipt === undefined ? json(200, { status: 'coalesced' }) : json(202, receipt);
    },
  });

export const triggerRoutes: readonly Route[] = [
  listTriggers,
  fireTrigger('POST'),
  fireTrigger('PUT'),
];
