import type { Claim, StoredRun } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { parseRfc3339 } from '../../lib/time/rfc3339.ts';
import type { Plan } from '../../plan/plan.ts';
import type { DoctorReport } from '../../wire/doctor.ts';
import type { Submission } from '../../wire/run.ts';
import { maskCallback } from '../callbacks/callback-rules.ts';
import type { RunTicket } from '../worker/executor.ts';
import { requestFingerprint } from './fingerprint.ts';
import type { Prepared } from './prepared.ts';
import type { How } from './runs.ts';

export interface NewRunOptions {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'redactor'>;
  readonly owner: string;
  readonly leaseTtlSecs: number;
  /** Whoever started the server chose how much is logged: documents have no say in it. */
  readonly isLevelChosen?: boolean | undefined;
  readonly how?: How;
  /** 0: keys are not looked at. */
  readonly idempotencySecs: number;
}

/**
 * What is stored, what the worker gets, and what decides whether the submission is a repetition.
 */
export interface NewRun {
  readonly run: StoredRun;
  readonly ticket: RunTicket;
  readonly claim: Claim | undefined;
  readonly configFingerprint: string;
  readonly plan: Plan;
}

export function newRun(
  submission: Submission,
  prepared: Prepared,
  report: DoctorReport | null,
  options: NewRunOptions,
): NewRun {
  const { env, owner } = options;
  const now = env.clock.now();
  const runId = env.ids.next();
  const run: StoredRun = {
    run_id: runId,
    name: prepared.isNamed ? prepared.name : null,
    labels: submission.labels ?? {},
    status: 'queued',
    submitted_at: now.toISOString(),
    started_at: null,
    finished_at: null,
    records_written: 0,
    invocations: [],
    error: null,
    idempotency_key: submission.idempotency_key ?? null,
    doctor_report: report === null ? null : env.redactor.json(report),
    attempt: 0,
    ...(submission.callback == null ? {} : { callback: maskCallback(submission.callback) }),
    owner,
    lease_until: new Date(now.getTime() + options.leaseTtlSecs * 1000).toISOString(),
    cancel_requested: false,
  };
  const ticket: RunTicket = {
    runId,
    owner,
    attempt: run.attempt,
    document: prepared.document,
    name: prepared.name,
    clock:
      (submission.clock == null ? undefined : parseRfc3339(submission.clock))?.toISOString() ??
      run.submitted_at,
    concurrency: submission.concurrency ?? null,
    timeoutSecs: submission.timeout_secs ?? null,
    secrets: [...env.redactor.values()],
    ...options.how,
    logLevel:
      (options.isLevelChosen === true ? undefined : prepared.plan.observability?.tracing?.level) ??
      env.log.level,
  };
  return {
    run,
    ticket,
    claim: claimOf(run, { submission, prepared }, options),
    configFingerprint: prepared.fingerprint,
    plan: prepared.plan,
  };
}

function claimOf(
  run: StoredRun,
  request: { submission: Submission; prepared: Prepared },
  options: NewRunOptions,
): Claim | undefined {
  if (run.idempotency_key === null || options.idempotencySecs === 0) return undefined;
  const expired = new Date(Date.parse(run.submitted_at) - options.idempotencySecs * 1000);
  const fingerprint = requestFingerprint(request.prepared.fingerprint, request.submission);
  return { key: run.idempotency_key, fingerprint, expired_at_or_before: expired.toISOString() };
}
