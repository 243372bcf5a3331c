/** From what is stored and what a worker reports to what the API shows. */
import { shownCallback } from '../callbacks/callback-rules.ts';
import type { DoneSoFar } from '../../history/cluster.ts';
import type { RunEnding, StoredRun } from '../../history/history.ts';
import type { Redactor } from '../../lib/redact.ts';
import {
  documentPlace,
  type InvocationOutcome,
  type OutcomeError,
  type Progress,
  type RunOutcome,
} from '../../wire/outcome.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type { ShardProgress } from '../../wire/shards.ts';
import type { InvocationRecord, NodeRecord, RunRecord } from '../../wire/run.ts';
import type { JobFault, StopCause } from '../../wire/job.ts';
import { errorOf, JobError } from '../worker/job-fault.ts';

/** `crashed`: its worker died, or never began; the sentence says why. */
export type RunEnd =
  | { readonly type: 'finished'; readonly outcome: RunOutcome }
  | { readonly type: 'crashed'; readonly reason: string };

export type EndReason = 'ok' | 'error' | 'timeout' | 'cancelled' | 'server_shutdown';

export interface EndContext {
  /** Why the run was stopped from outside; undefined when it ended by itself. */
  readonly stopped: StopCause | undefined;
  readonly timeoutSecs: number | null;
  /** What servers wrote that gave the run away. */
  readonly earlier: DoneSoFar;
  /** The last counts heard of. */
  readonly progress: Progress | undefined;
  readonly finishedAt: string;
  /** When files that invocations wrote will be deleted, by the id of the invocation. */
  readonly outputsExpire?: ((outcome: RunOutcome) => ReadonlyMap<string, string>) | undefined;
}

/** How a run ends for the record. A stopped run keeps what is known about it. */
export function endingOf(
  end: RunEnd,
  context: EndContext,
): { readonly ending: RunEnding; readonly reason: EndReason } {
  const { earlier } = context;
  const written =
    end.type === 'finished'
      ? end.outcome.records_written
      : (context.progress?.records_written ?? 0);
  const invocations = end.type === 'finished' ? invocationRecords(end.outcome, context) : [];
  const known = {
    finished_at: context.finishedAt,
    records_written: earlier.records_written + written,
    invocations: [...earlier.invocations, ...invocations],
    ...(end.type === 'finished' ? nodeRecords(end.outcome) : {}),
  };
  const failed = (error: string, reason: EndReason) => ({
    ending: { ...known, status: 'failed' as const, error },
    reason,
  });
  if (end.type === 'finished' && end.outcome.status === 'completed') {
    return { ending: { ...known, status: 'completed', error: null }, reason: 'ok' };
  }
  const fault = faultOf(end);
  switch (context.stopped) {
    case 'cancel':
      // A killed worker says nothing; a worker that reports a failure could not flush what it had.
      if (fault !== undefined && end.type === 'finished') return failed(fault, 'error');
      return { ending: { ...known, status: 'cancelled', error: null }, reason: 'cancelled' };
    case 'timeout':
      return failed(
        withFault(`the run did not finish within its timeout_secs of ${context.timeoutSecs}`, end),
        'timeout',
      );
    case 'shutdown':
      return failed(
        withFault('the server shut down before the run finished', end),
        'server_shutdown',
      );
    case undefined:
      return failed(
        end.type === 'crashed'
          ? `the run ended abnormally: ${end.reason}`
          : (fault ?? 'the run was stopped'),
        'error',
      );
    default:
      return context.stopped satisfies never;
  }
}

/**
 * What the record of a run that is given away says of its executions until now: rows that stored a
 * bookmark, behind which the next one goes on. All others are begun anew.
 */
export function doneSoFar(
  end: RunEnd,
  { earlier, outputsExpire }: Pick<EndContext, 'earlier' | 'outputsExpire'>,
): DoneSoFar {
  const { records_written: before, invocations } = earlier;
  if (end.type === 'crashed') return { records_written: before, invocations };
  const isGoneOnWith = ({ status, bookmark }: InvocationOutcome): boolean =>
    bookmark !== undefined && (status === 'completed' || status === 'cancelled');
  const kept = end.outcome.invocations.filter(isGoneOnWith);
  return {
    records_written: kept.reduce((sum, { balance }) => sum + balance.written, before),
    invocations: [
      ...invocations,
      ...invocationRecords({ ...end.outcome, invocations: kept }, { outputsExpire }),
    ],
  };
}

/** The same of a run that ended with its last shard. */
export function endingInShards({ status }: StoredRun): {
  readonly status: RunEnding['status'];
  readonly reason: EndReason;
} {
  switch (status) {
    case 'completed':
      return { status, reason: 'ok' };
    case 'cancelled':
      return { status, reason: 'cancelled' };
    default:
      return { status: 'failed', reason: 'error' };
  }
}

/** Of a run that its worker refused: nothing of it was executed. */
export function outcomeOf(fault: JobFault, pipeline: string, now: string): RunOutcome {
  const refusal = errorOf(fault);
  const error: OutcomeError =
    refusal instanceof JobError
      ? refusal.error
      : { code: refusal.code, kind: 'Config', message: refusal.message };
  return {
    pipeline,
    status: 'failed',
    started_at: now,
    finished_at: now,
    records_written: 0,
    invocations: [],
    error,
  };
}

function faultOf(end: RunEnd): string | undefined {
  if (end.type === 'crashed') return end.reason;
  if (end.outcome.error !== null) return end.outcome.error.message;
  const failed = end.outcome.invocations.filter(
    (invocation) => invocation.status === 'failed',
  ).length;
  return end.outcome.status === 'failed' ? `${failed} invocation(s) failed` : undefined;
}

function withFault(sentence: string, end: RunEnd): string {
  const fault = faultOf(end);
  return fault === undefined ? sentence : `${sentence}: ${fault}`;
}

function invocationRecords(
  outcome: RunOutcome,
  { outputsExpire }: Pick<EndContext, 'outputsExpire'>,
): InvocationRecord[] {
  const expiries = outputsExpire?.(outcome);
  return outcome.invocations.map((invocation) => {
    const record = invocationRecord(invocation);
    const expiry = expiries?.get(invocation.invocation_id);
    return expiry === undefined ? record : { ...record, outputs_expire_at: expiry };
  });
}

function invocationRecord(outcome: InvocationOutcome): InvocationRecord {
  return {
    run_id: outcome.invocation_id,
    row_id: outcome.row_id,
    parent_record_key: outcome.parent_record_key,
    records_written: outcome.balance.written,
    error: outcome.error?.message ?? null,
    ...placeOf(outcome.error),
    status: outcome.status,
    started_at: outcome.started_at,
    duration_ms: outcome.duration_ms,
    balance: outcome.balance,
  };
}

function nodeRecords({ nodes }: RunOutcome): { readonly nodes?: NodeRecord[] } {
  if (nodes === undefined) return {};
  return {
    nodes: nodes.map(({ error, dead_lettered: deadLettered = 0, ...node }) => ({
      ...node,
      dead_lettered: deadLettered,
      error: error?.message ?? null,
    })),
  };
}

function placeOf(error: OutcomeError | null): Pick<InvocationRecord, 'error_place' | 'error_hint'> {
  if (error === null) return {};
  const place = documentPlace(error);
  return {
    ...(place === undefined ? {} : { error_place: place }),
    ...(error.hint === undefined ? {} : { error_hint: error.hint }),
  };
}

/** What is known only while the run executes here. */
export interface LiveView {
  readonly progress: Progress | undefined;
  /** Of a run that is executed in shards. */
  readonly shards?: ShardProgress | undefined;
}

/**
 * Errors are redacted on reading too: a secret may have become known after the record was written.
 */
export function presentRun(
  run: StoredRun,
  redactor: Redactor,
  now: Date,
  live: LiveView | undefined,
): RunRecord {
  const { owner: _owner, lease_until: _lease, cancel_requested: _cancel, ...stored } = run;
  const { parent_id: _parent, shard: _shard, ...record } = stored;
  const shards = live?.shards;
  const ended = isTerminal(run.status);
  const until = run.finished_at === null ? now.getTime() : Date.parse(run.finished_at);
  return {
    ...record,
    ...(record.callback === undefined ? {} : { callback: shownCallback(record.callback) }),
    elapsed_secs:
      run.started_at === null ? null : Math.max(0, until - Date.parse(run.started_at)) / 1000,
    records_written: ended
      ? run.records_written
      : (shards?.records_written ?? run.records_written + (live?.progress?.records_written ?? 0)),
    ...(shards === undefined ? {} : { shards: shards.counts }),
    error: redactNullable(run.error, redactor),
    ...(run.nodes === undefined
      ? {}
      : {
          nodes: run.nodes.map((node) => ({
            ...node,
            error: redactNullable(node.error, redactor),
          })),
        }),
    invocations: run.invocations.map((invocation) => ({
      ...invocation,
      error: redactNullable(invocation.error, redactor),
      ...(invocation.error_place === undefined
        ? {}
        : { error_place: redactor.text(invocation.error_place) }),
      ...(invocation.error_hint === undefined
        ? {}
        : { error_hint: redactor.text(invocation.error_hint) }),
    })),
  };
}

function redactNullable(text: string | null, redactor: Redactor): string | null {
  return text === null ? null : redactor.text(text);
}
