import type { ClaimedRun } from '../cluster.ts';
import { runOf, text } from '../sql/rows.ts';
import type { SqlResult } from '../sql/sql-store.ts';
import { submissionOf } from '../sql/sql-submissions.ts';

/** What a statement that claims gives. */
export function claimedRuns([claimed]: readonly SqlResult[]): readonly ClaimedRun[] {
  return (claimed?.rows ?? []).map((row) => ({
    run: runOf(row),
    claim: Number(row['claims']),
    ...(row['run_started_at'] == null ? {} : { runStartedAt: text(row['run_started_at']) }),
    submission: row['content'] === null ? NO_SUBMISSION : (submissionOf(row) ?? NO_SUBMISSION),
  }));
}

/** It was erased: the run ends with a sentence that says so. */
const NO_SUBMISSION = { content: '{}' };
