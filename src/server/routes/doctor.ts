import { RefusedError } from '../../lib/errors.ts';
import { doctorFailure, doctorReportSchema, doctorRequestSchema } from '../../wire/doctor.ts';
import { defineRoute, json, type Route } from '../route.ts';

const runDoctor = defineRoute({
  method: 'POST',
  path: '/v1/doctor',
  permission: 'doctor',
  label: 'doctor',
  tag: 'operations',
  summary: 'Check everything a document needs, without running it',
  description: 'When a probe fails the answer is 422 and `error.details` is the report.',
  body: doctorRequestSchema,
  uses: ['doctor', 'redactor'],
  responses: {
    200: { description: 'Every probe passed or was skipped.', schema: doctorReportSchema },
  },
  refusals: ['unprocessable'],
  async handle({ body, signal }, { doctor, redactor }) {
    const report = await doctor(body, signal);
    const failure = doctorFailure(report);
    if (failure !== undefined)
      throw new RefusedError('unprocessable', failure, { details: report });
    return json(200, redactor.json(report));
  },
});

export const doctorRoutes: readonly Route[] = [runDoctor];
