/** Replays of dead letters over HTTP. */
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import { failureOf } from '../../runs/service/job-refusal.ts';
import { submittedDocument, type BaseDocument } from '../../runs/service/prepared.ts';
import type { Caller } from '../../runs/service/runs.ts';
import { JobError } from '../../runs/worker/job-fault.ts';
import type { ReplayBody, ReplayReport } from '../../wire/dlq.ts';
import type { RequestOf } from '../../wire/job.ts';
import { replayJob } from './replay-job.ts';

export interface ReplayServices {
  readonly jobs: Jobs;
  readonly base?: () => BaseDocument | undefined;
  readonly audit: Pick<Audit, 'record'>;
}

export interface ReplayCall {
  readonly request: ReplayBody;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Rejects with `ConfigError`, or `RefusedError`: 400 when the dead letters or the row do not exist, 409
 * while another replay writes to the row, 422 when the replay failed, 429 when too many run at once.
 */
export type Replay = (call: ReplayCall) => Promise<ReplayReport>;

export function createReplay({ jobs, base, audit }: ReplayServices): Replay {
  return async ({ request, caller, signal }) => {
    const record = (result: string): Promise<void> =>
      audit.record({ ...actionOf(caller, 'dlq.replay'), result });
    try {
      const report = await jobs.run(replayJob, jobOf(request, base?.()), { signal });
      await record('ok');
      return report;
    } catch (error) {
      if (!(error instanceof JobError)) throw error;
      await record('error');
      // What it wrote stays written; the dead letters are still in their queue.
      throw failureOf(error.error, replayJob.word);
    }
  };
}

function jobOf(
  { config, config_format, from, row, failed_dlq, dry_run, encryption_keys, ...which }: ReplayBody,
  base: BaseDocument | undefined,
): RequestOf<'replay'> {
  return {
    kind: 'replay',
    document: submittedDocument({ config, config_format, name: null }, base),
    from,
    reason: which.reason ?? null,
    cause: which.cause ?? null,
    letter: which.letter ?? null,
    payload: which.payload,
    row: row ?? null,
    failed_dlq: failed_dlq ?? null,
    dry_run,
    keys: encryption_keys,
  };
}
