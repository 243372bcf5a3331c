/** Queues of dead letters on the server's disk: inspect, replay, discard. */
import { actionOf } from '../../runs/service/audit.ts';
import type { Caller } from '../../runs/service/runs.ts';
import {
  discardReportSchema,
  discardRequestSchema,
  inspectionSchema,
  inspectRequestSchema,
  replayReportSchema,
  replayRequestSchema,
  type DiscardReport,
} from '../../wire/dlq.ts';
import type { Services } from '../services.ts';
import { defineRoute, json, type Route } from '../route.ts';

const inspectDeadLetters = defineRoute({
  method: 'POST',
  path: '/v1/dlq/inspect',
  permission: 'dlq_read',
  label: 'dlq.inspect',
  tag: 'operations',
  summary: 'Look into a queue of dead letters',
  body: inspectRequestSchema,
  uses: ['deadLetters'],
  responses: { 200: { description: 'What the queue holds.', schema: inspectionSchema } },
  refusals: ['queue_full'],
  async handle({ body, signal }, { deadLetters }) {
    return json(200, await deadLetters.inspect(body, signal));
  },
});

const replayDeadLetters = defineRoute({
  method: 'POST',
  path: '/v1/dlq/replay',
  permission: 'dlq_manage',
  label: 'dlq.replay',
  tag: 'operations',
  summary: 'Send dead letters through a document again',
  description:
    'Their payloads pass the transforms, masking, checks and sink of a matrix row. Records that fail again go to a separate file; the dead letters stay where they are. The answer comes when all are replayed.',
  body: replayRequestSchema,
  uses: ['replay'],
  responses: { 200: { description: 'What became of them.', schema: replayReportSchema } },
  refusals: ['conflict', 'unprocessable', 'queue_full'],
  async handle({ body, caller, signal }, { replay }) {
    return json(200, await replay({ request: body, caller, signal }));
  },
});

const discardDeadLetters = defineRoute({
  method: 'POST',
  path: '/v1/dlq/discard',
  permission: 'dlq_manage',
  label: 'dlq.discard',
  tag: 'operations',
  summary: 'Remove dead letters from their queue',
  description:
    'They move to an archive beside their file, unless `delete` is true. Lines that are not dead letters stay.',
  body: discardRequestSchema,
  uses: ['audit', 'deadLetters'],
  responses: { 200: { description: 'What was taken out.', schema: discardReportSchema } },
  refusals: ['queue_full'],
  async handle({ body, caller, signal }, { audit, deadLetters }) {
    const purge = (): Promise<DiscardReport> => deadLetters.purge(body, signal);
    return json(200, await audited('dlq.discard', caller, audit, purge));
  },
});

/** Whether it worked or not stands in the audit log. */
async function audited<T>(
  action: string,
  caller: Caller,
  audit: Services['audit'],
  act: () => Promise<T>,
): Promise<T> {
  try {
    const result = await act();
    await audit.record(actionOf(caller, action));
    return result;
  } catch (error) {
    await audit.record({ ...actionOf(caller, action), result: 'error' });
    throw error;
  }
}

export const deadLetterRoutes: readonly Route[] = [
  inspectDeadLetters,
  replayDeadLetters,
  discardDeadLetters,
];
