import type { Claim, StoredRun, StoredSubmission } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { parseRfc3339 } from '../../lib/time/rfc3339.ts';
import type { DoctorReport } from '../../wire/doctor.ts';
import type { PlanSummary } from '../../wire/plan-summary.ts';
import type { Callback, Submission, SubmissionReceipt } from '../../wire/run.ts';
import {
  SUBMISSION_VERSION,
  type Bound,
  type StoredSubmissionContent,
} from '../../wire/submission.ts';
import { isMaskedCallback, maskCallback } from '../callbacks/callback-rules.ts';
import { requestFingerprint } from '../planning/fingerprint.ts';
import type { BaseDocument } from './prepared.ts';
import type { How } from './runs.ts';
import type { SubmissionWriter } from './stored-submission.ts';

export interface NewRunOptions {
  readonly env: Pick<Env, 'clock' | 'ids'>;
  /** Who holds the run while it is queued. */
  readonly owner: string;
  readonly leaseTtlSecs: number;
  readonly how: How;
  readonly submissions: SubmissionWriter;
  /** 0: keys are not looked at. */
  readonly idempotencySecs: number;
}

export interface Preparation {
  readonly submission: Submission;
  /** Of its document. */
  readonly configHash: string;
  readonly summary: PlanSummary;
  /** What the document is merged over. */
  readonly base: BaseDocument | undefined;
  readonly report: DoctorReport | null;
}

/** What is stored, and what decides whether the submission is a repetition. */
export interface NewRun {
  readonly run: StoredRun;
  readonly content: StoredSubmissionContent;
  readonly stored: StoredSubmission;
  readonly claim: Claim | undefined;
}

export function newRun(preparation: Preparation, options: NewRunOptions): NewRun {
  const { submission, summary, base, report } = preparation;
  const { env, owner } = options;
  const { priority } = submission;
  const now = env.clock.now();
  const run: StoredRun = {
    run_id: env.ids.next(),
    name: summary.is_named ? summary.name : null,
    labels: submission.labels ?? {},
    status: 'queued',
    submitted_at: now.toISOString(),
    started_at: null,
    finished_at: null,
    records_written: 0,
    invocations: [],
    error: null,
    idempotency_key: submission.idempotency_key ?? null,
    doctor_report: report,
    attempt: 0,
    ...(priority == null || priority === 'normal' ? {} : { priority }),
    ...(submission.callback == null ? {} : { callback: maskCallback(submission.callback) }),
    owner,
    lease_until: new Date(now.getTime() + options.leaseTtlSecs * 1000).toISOString(),
    cancel_requested: false,
  };
  const written = options.submissions.write({
    content: contentOf(submission, options.how, run.submitted_at),
    configHash: preparation.configHash,
    base,
    secretParams: options.how.bound?.secretParams ?? [],
  });
  return {
    run,
    ...written,
    claim: claimOf(run, preparation, options),
  };
}

function contentOf(
  submission: Submission,
  { anew, measuredAs, bound, zone }: How,
  submittedAt: string,
): StoredSubmissionContent {
  const { config, config_format, name, clock, concurrency, timeout_secs, callback } = submission;
  return {
    version: SUBMISSION_VERSION,
    config,
    config_format,
    name: name ?? null,
    clock: (clock == null ? undefined : parseRfc3339(clock))?.toISOString() ?? submittedAt,
    ...(zone === undefined ? {} : { zone }),
    concurrency: concurrency ?? null,
    timeout_secs: timeout_secs ?? null,
    reads_anew: anew ?? false,
    measured_as: measuredAs ?? null,
    ...(bound === undefined ? {} : { bound: withoutNames(bound) }),
    callback: callback == null ? 'none' : storageOf(callback),
  };
}

/** The run record holds the callback without its secrets. */
function storageOf(callback: Callback): StoredSubmissionContent['callback'] {
  return isMaskedCallback(callback) ? 'withheld' : 'recorded';
}

function claimOf(
  run: StoredRun,
  { submission, summary }: Preparation,
  { idempotencySecs }: NewRunOptions,
): Claim | undefined {
  if (run.idempotency_key === null || idempotencySecs === 0) return undefined;
  const expired = new Date(Date.parse(run.submitted_at) - idempotencySecs * 1000);
  const fingerprint = requestFingerprint(summary.fingerprint, submission);
  return { key: run.idempotency_key, fingerprint, expired_at_or_before: expired.toISOString() };
}

export function receiptOf(run: StoredRun): SubmissionReceipt {
  return { run_id: run.run_id, status: run.status, submitted_at: run.submitted_at };
}

/** What a worker is given of it. */
export function boundOf({ bound }: How): Bound | undefined {
  return bound === undefined ? undefined : withoutNames(bound);
}

function withoutNames({ secretParams: _names, ...bound }: NonNullable<How['bound']>): Bound {
  return bound;
}
