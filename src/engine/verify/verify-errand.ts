/** A comparison as a worker process makes it for the server. */
import type { RunOutcome } from '../../wire/outcome.ts';
import type { VerifyTask } from '../../wire/verify.ts';
import { outcomeErrorOf } from '../failure.ts';
import type { VerifyRowOptions } from './setting.ts';
import { rowToVerify, verifyRow } from './verify-row.ts';

/** Never throws: what is wrong is in the outcome, and so is the report. */
export async function verifyErrand(options: Omit<VerifyRowOptions, 'row' | 'task'> & { readonly task: VerifyTask }): Promise<RunOutcome> {
  const { plan, env, task } = options;
  const startedAt = env.clock.now().toISOString();
  const ended = (): Pick<RunOutcome, 'pipeline' | 'started_at' | 'finished_at' | 'invocations'> => ({
    pipeline: plan.name,
    started_at: startedAt,
    finished_at: env.clock.now().toISOString(),
    invocations: [],
  });
  try {
    const verification = await verifyRow({ ...options, row: rowToVerify(plan, task.row) });
    const written = (verification.repaired_upserts ?? 0) + (verification.repaired_deletes ?? 0);
    return { ...ended(), status: 'completed', records_written: task.dryRun ? 0 : written, error: null, verification };
  } catch (error) {
    return { ...ended(), status: 'failed', records_written: 0, error: outcomeErrorOf(error, env.redactor) };
  }
}
