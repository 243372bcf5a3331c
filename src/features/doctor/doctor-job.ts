import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import type { DoctorReport } from '../../wire/doctor.ts';
import { doctorJobSchema } from '../../wire/job.ts';

/** Probes everything a document needs. */
export const doctorJob = defineJob({
  kind: 'doctor',
  word: 'preflight',
  request: doctorJobSchema,
  limits: {
    atOnce: 4,
    waiting: 16,
    limitMs: 45_000,
    countsFrom: 'last_event',
    graceMs: 0,
    isRepeatable: true,
  },
  execute: async (request, context): Promise<DoctorReport> => {
    const { env, parts, signal, send } = context;
    const plan = await openDocument(request.document, context);
    const { doctor } = await import('../../engine/checks/doctor.ts');
    const report = await doctor({
      plan,
      parts,
      env,
      clock: env.clock.now(),
      signal,
      timeoutMs: request.probe_timeout_ms,
      hear: (event) => send({ kind: 'probed', event: env.redactor.json(event) }),
    });
    return env.redactor.json(report);
  },
});
