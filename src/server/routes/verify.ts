import { verifyReportSchema, verifyRequestSchema } from '../../wire/verify.ts';
import { defineRoute, json, type Route } from '../route.ts';

const verifyRow = defineRoute({
  method: 'POST',
  path: '/v1/verify',
  permission: 'run_write',
  label: 'verify',
  tag: 'operations',
  summary: 'Compare the records of a destination with those of its source, key by key',
  description:
    'A difference is a result, not an error. With `repair`, missing and changed records are written again through the sink of the matrix row, and with `allow_delete` records that only the destination has are deleted; while a run of the row is running, that is a 409. The answer comes when everything is compared.',
  body: verifyRequestSchema,
  uses: ['verify', 'redactor'],
  responses: {
    200: { description: 'What was compared, and what differs.', schema: verifyReportSchema },
  },
  refusals: ['conflict', 'unprocessable', 'queue_full'],
  async handle({ body, caller, signal }, { verify, redactor }) {
    return json(200, redactor.json(await verify({ request: body, caller, signal })));
  },
});

export const verifyRoutes: readonly Route[] = [verifyRow];
