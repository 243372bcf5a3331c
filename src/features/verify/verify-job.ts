import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { failJob } from '../../runs/worker/job-fault.ts';
import { verifyJobSchema } from '../../wire/job.ts';
import type { VerifyReport } from '../../wire/verify.ts';

/** Compares the destination of a row with its source. */
export const verifyJob = defineJob({
  kind: 'verify',
  word: 'comparison',
  request: verifyJobSchema,
  limits: { atOnce: 4, waiting: 0, limitMs: 6 * 3_600_000, countsFrom: 'begin', graceMs: 30_000 },
  execute: async (request, context): Promise<VerifyReport> => {
    const { env, parts, id, signal } = context;
    const plan = await openDocument(request.document, context, { unnamed: 'verify' });
    const { rowToVerify, verifyRow } = await import('../../engine/verify/verify-row.ts');
    try {
      const report = await verifyRow({
        plan,
        row: rowToVerify(plan, request.row ?? undefined),
        parts,
        env,
        runId: id,
        clock: env.clock.now(),
        stop: signal,
        kill: signal,
        task: {
          repair: request.repair,
          allowDelete: request.allow_delete,
          dryRun: request.dry_run,
          maxDifferences: request.max_differences ?? undefined,
        },
      });
      return env.redactor.json(report);
    } catch (error) {
      return failJob(error, env.redactor);
    }
  },
});
