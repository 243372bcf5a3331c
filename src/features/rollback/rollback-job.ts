import { ConfigError, ConnectorError, RefusedError, RunError } from '../../lib/errors.ts';
import { isInUse } from '../../runs/service/job-refusal.ts';
import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { rollbackJobSchema } from '../../wire/job.ts';
import type { RollbackReport } from '../../wire/rollback.ts';

/** Undoes one invocation of a run. */
export const rollbackJob = defineJob({
  kind: 'rollback',
  word: 'rollback',
  request: rollbackJobSchema,
  // One after the other: two at once would each put back a position, and one of them over the
  // other.
  limits: { atOnce: 1, waiting: 16, limitMs: 3_600_000, countsFrom: 'begin', graceMs: 30_000 },
  execute: async (request, context): Promise<RollbackReport> => {
    const { env, parts, signal } = context;
    const plan = await openDocument(request.document, context, { backfill: 'kept' });
    const { rollBackRun } = await import('../../engine/rollback/roll-back-run.ts');
    const report = await rollBackRun({
      plan,
      parts,
      env,
      runId: request.invocation_id,
      row: request.row ?? undefined,
      dryRun: request.dry_run,
      force: request.force,
      signal,
    }).catch(refused);
    return env.redactor.json(report);
  },
});

/** Errors of a destination or a store are part of the answer: the caller has to know them. */
function refused(error: unknown): never {
  if (error instanceof ConfigError || !(error instanceof RunError)) throw error;
  const isGone = error.cause instanceof ConnectorError && error.cause.kind === 'missing';
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  const code = isInUse(error.code) ? 'conflict' : isGone ? 'bad_config' : 'unavailable';
  throw new RefusedError(code, error.message, {
    ...hint,
    cause: error,
  });
}
