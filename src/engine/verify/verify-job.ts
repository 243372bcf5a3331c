/** The job `verify`, as a worker process runs it for the server. */
import type { RunOutcome } from '../../wire/outcome.ts';
import type { VerifyTask } from '../../wire/verify.ts';
import { jobOutcome } from '../job-outcome.ts';
import type { VerifyRowOptions } from './settings.ts';
import { rowToVerify, verifyRow } from './verify-row.ts';

/** Never rejects: report and errors are in the outcome. */
export function verifyJob(
  options: Omit<VerifyRowOptions, 'row' | 'task'> & { readonly task: VerifyTask },
): Promise<RunOutcome> {
  const { plan, task } = options;
  return jobOutcome(options, async () => {
    const verification = await verifyRow({ ...options, row: rowToVerify(plan, task.row) });
    const written = (verification.repaired_upserts ?? 0) + (verification.repaired_deletes ?? 0);
    return { records_written: task.dryRun ? 0 : written, error: null, verification };
  });
}
