import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { failJob, JobError } from '../../runs/worker/job-fault.ts';
import type { ReplayReport } from '../../wire/dlq.ts';
import { replayJobSchema } from '../../wire/job.ts';

/** Sends dead letters through a document. */
export const replayJob = defineJob({
  kind: 'replay',
  word: 'replay',
  request: replayJobSchema,
  limits: { atOnce: 4, waiting: 0, limitMs: 6 * 3_600_000, countsFrom: 'begin', graceMs: 30_000 },
  execute: async (request, context): Promise<ReplayReport> => {
    const { env, parts, signal } = context;
    for (const key of request.keys) env.redactor.register(key);
    const plan = await openDocument(request.document, context, { unnamed: 'replay' });
    const { replay } = await import('./replay.ts');
    const { report, error } = await replay({
      plan,
      parts,
      env,
      signal,
      from: request.from,
      reason: request.reason ?? undefined,
      cause: request.cause ?? undefined,
      letter: request.letter ?? undefined,
      payload: request.payload,
      row: request.row ?? undefined,
      failedDlq: request.failed_dlq ?? undefined,
      dryRun: request.dry_run,
      asWritten: false,
      keys: request.keys,
    }).catch((thrown: unknown) => failJob(thrown, env.redactor));
    if (error !== null) throw new JobError(error);
    return report;
  },
});
