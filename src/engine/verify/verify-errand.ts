/** A comparison as a worker process makes it for the server. */
import type { RunOutcome } from '../../wire/outcome.ts';
import type { VerifyTask } from '../../wire/verify.ts';
import { errandOutcome } from '../errand-outcome.ts';
import type { VerifyRowOptions } from './setting.ts';
import { rowToVerify, verifyRow } from './verify-row.ts';

/** Never rejects: what is wrong is in the outcome, and so is the report. */
export function verifyErrand(
  options: Omit<VerifyRowOptions, 'row' | 'task'> & { readonly task: VerifyTask },
): Promise<RunOutcome> {
  const { plan, task } = options;
  return errandOutcome(options, async () => {
    const verification = await verifyRow({ ...options, row: rowToVerify(plan, task.row) });
    const written = (verification.repaired_upserts ?? 0) + (verification.repaired_deletes ?? 0);
    return { records_written: task.dryRun ? 0 : written, error: null, verification };
  });
}
