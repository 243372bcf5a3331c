/** Comparisons over HTTP. */
import { ConfigError } from '../../lib/errors.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import { refusalOf } from '../../runs/service/job-refusal.ts';
import { submittedDocument, type BaseDocument } from '../../runs/service/prepared.ts';
import type { Caller } from '../../runs/service/runs.ts';
import { JobError } from '../../runs/worker/job-fault.ts';
import type { VerifyReport, VerifyRequest } from '../../wire/verify.ts';
import { verifyJob } from './verify-job.ts';

export interface VerifyServices {
  readonly jobs: Jobs;
  readonly base?: () => BaseDocument | undefined;
  readonly audit: Pick<Audit, 'record'>;
}

export interface VerifyCall {
  readonly request: VerifyRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Rejects with `ConfigError`, or `RefusedError`: 400 what cannot be compared, 409 a repair beside a run
 * of the row, 429 too many at once, 503 a store that does not answer.
 */
export type Verify = (call: VerifyCall) => Promise<VerifyReport>;

export function createVerify({ jobs, base, audit }: VerifyServices): Verify {
  return async ({ request, caller, signal }) => {
    const { config, config_format, row, repair, allow_delete, dry_run, max_differences } = request;
    const report = await jobs
      .run(
        verifyJob,
        {
          kind: 'verify',
          document: submittedDocument({ config, config_format, name: null }, base?.()),
          row: row ?? null,
          repair,
          allow_delete,
          dry_run,
          max_differences: max_differences ?? null,
        },
        { signal },
      )
      .catch(asRefused);
    const result = report.differences.length === 0 ? 'equal' : 'different';
    await audit.record({ ...actionOf(caller, 'verify'), result });
    return report;
  };
}

/**
 * A document that asks for a comparison that cannot be made is refused like every request for such
 * a one.
 */
function asRefused(error: unknown): never {
  if (error instanceof JobError) throw refusalOf(error.error, verifyJob.word);
  if (
    !(error instanceof ConfigError) ||
    !error.issues.every(({ code }) => code === 'verify_impossible')
  )
    throw error;
  throw new ConfigError(error.issues, { stage: 'parse', cause: error });
}
