/**
 * Makes events from the end of a run: one root row at a time, with everything that ran below it.
 */
import { rowOfInvocation } from '../../engine/expand/iteration.ts';
import { assert, type ErrorKind } from '../../lib/errors.ts';
import type { EndedRun } from './ended-run.ts';
import type { NotifiedPlan, NotifiedRow } from '../../wire/plan-summary.ts';
import type { InvocationOutcome, OutcomeError, SlaViolation } from '../../wire/outcome.ts';
import type { NotificationEvent } from '../../kit/notification-event.ts';
import { notificationEvent, secondsBetween, type Owner } from './event.ts';

export interface RunNotifications {
  readonly events: readonly NotificationEvent[];
  /**
   * Rows that went well, and the empty name when the whole run did: incidents of theirs are over.
   */
  readonly recovered: readonly string[];
}

/**
 * A row that runs by itself, and its invocations and those of the rows that run for its records.
 */
interface Subject {
  /** As receivers know it. */
  readonly row: string;
  /** It only lists values for other rows: its success is not reported. */
  readonly isQuiet: boolean;
  readonly invocations: readonly InvocationOutcome[];
}

type Failed = InvocationOutcome & { readonly error: OutcomeError };

/** Nothing for a cancelled run. */
export function notificationsOf(run: EndedRun): RunNotifications {
  if (run.status === 'cancelled') return { events: [], recovered: [] };
  const subjects = subjectsOf(run);
  const events = [...subjects.flatMap((subject) => eventsOf(subject, run)), ...nodeEvents(run)];
  const isReported = subjects.some((subject) => failuresIn(subject).length > 0);
  if (run.status === 'failed' && !isReported) events.unshift(wholeFailure(run, subjects));
  const recovered = subjects.filter(wentWell).map(({ row }) => row);
  return {
    events,
    recovered: run.status === 'completed' ? [...new Set(['', ...recovered])] : recovered,
  };
}

function subjectsOf({ plan, outcome }: EndedRun): readonly Subject[] {
  const rows = new Map(plan.rows.map((row) => [row.id, row]));
  const listing = new Set(plan.listing);
  const found = Map.groupBy(
    outcome?.invocations.filter(({ status }) => status !== 'skipped') ?? [],
    ({ row_id: name }) =>
      rootOf(
        rowOfInvocation(name, (id) => rows.has(id) || listing.has(id)),
        rows,
      ),
  );
  return [...found].map(([id, invocations]) => ({
    row: plan.is_one_row ? '' : id,
    isQuiet: listing.has(id),
    invocations,
  }));
}

function rootOf(id: string, rows: ReadonlyMap<string, NotifiedRow>): string {
  const parent = rows.get(id)?.parent ?? null;
  return parent === null ? id : rootOf(parent, rows);
}

function eventsOf(subject: Subject, run: EndedRun): NotificationEvent[] {
  const failures = failuresIn(subject);
  if (failures.length > 0)
    return [failureEvent(subject, failures, run), ...sideEvents(subject, run)];
  if (subject.isQuiet || !wentWell(subject)) return [];
  const written = sum(subject, ({ balance }) => balance.written);
  const success = notificationEvent(
    'run_success',
    ownerOf(subject, run),
    `records written: ${written}`,
    { records_written: written },
  );
  return [success, ...sideEvents(subject, run)];
}

function wentWell({ invocations }: Subject): boolean {
  return invocations.every(({ status }) => status === 'completed');
}

function failuresIn({ invocations }: Subject): readonly Failed[] {
  return invocations.filter((one): one is Failed => one.status === 'failed' && one.error !== null);
}

/** A failure has one event: the most specific. */
function failureEvent(
  subject: Subject,
  failures: readonly Failed[],
  run: EndedRun,
): NotificationEvent {
  const { plan } = run;
  const of = (kind: ErrorKind): Failed | undefined =>
    failures.find(({ error }) => error.kind === kind);
  const open = of('CircuitOpen');
  const breach = of('ContractViolation');
  const failed = open ?? breach ?? failures[0];
  assert(failed !== undefined, 'a row failed without a failure');
  const owner = { ...ownerOf(subject, run), invocation_id: failed.invocation_id };
  const more = failures.length === 1 ? '' : ` (and ${failures.length - 1} more)`;
  const isNamed = failed.row_id === subject.row || plan.is_one_row;
  const message = `${isNamed ? '' : `${failed.row_id}: `}${failed.error.message}${more}`;
  if (open !== undefined)
    return notificationEvent('circuit_open', owner, message, breakerDetails(failed, plan));
  if (breach !== undefined) return notificationEvent('contract_abort', owner, message, {});
  return notificationEvent('run_failure', owner, message, {
    error_kind: errorKind(failed.error.kind),
  });
}

/** The breaker opens at its threshold. */
function breakerDetails(
  { row_id: name }: InvocationOutcome,
  { rows }: NotifiedPlan,
): NotificationEvent['details'] {
  const id = rowOfInvocation(name, (known) => rows.some((row) => row.id === known));
  return { ...rows.find((row) => row.id === id)?.breaker };
}

/** What happened on the way, however it ended. */
function sideEvents(subject: Subject, run: EndedRun): NotificationEvent[] {
  const owner = ownerOf(subject, run);
  const violations = Map.groupBy(
    subject.invocations.flatMap(({ sla_violations: found = [] }) => found),
    ({ kind }) => kind,
  );
  const dead = sum(subject, ({ balance }) => balance.dead_lettered);
  return [
    ...[...violations].map(([kind, found]) =>
      notificationEvent('sla_breach', owner, violationText(found), { sla_kind: kind }),
    ),
    ...(dead === 0 ? [] : [deadLetterEvent(owner, dead)]),
  ];
}

function deadLetterEvent(owner: Owner, dead: number): NotificationEvent {
  const message = `records in the dead-letter queue: ${dead}`;
  return notificationEvent('dlq_threshold', owner, message, { records_dlq: dead });
}

/** Of the nodes before the sinks of a graph, which are rows. */
function nodeEvents(run: EndedRun): NotificationEvent[] {
  return (run.outcome?.nodes ?? []).flatMap(({ id, dead_lettered: dead = 0 }) =>
    dead === 0 ? [] : [deadLetterEvent({ ...wholeRun(run), row: id }, dead)],
  );
}

function wholeRun({ plan, runId, startedAt, finishedAt }: EndedRun): Owner {
  return {
    pipeline: plan.name,
    row: '',
    run_id: runId,
    invocation_id: null,
    started_at: startedAt,
    finished_at: finishedAt,
    duration_secs: startedAt === null ? null : secondsBetween(startedAt, finishedAt),
  };
}

function violationText([first, ...more]: readonly SlaViolation[]): string {
  return `${first?.message ?? ''}${more.length === 0 ? '' : ` (and ${more.length} more)`}`;
}

/** A run that failed as a whole: it took too long, its process died, or nothing could start. */
function wholeFailure(run: EndedRun, subjects: readonly Subject[]): NotificationEvent {
  const { plan, error, outcome } = run;
  const [only] = subjects;
  const isOne = subjects.length === 1 && only !== undefined && plan.is_one_row;
  const owner: Owner = {
    ...wholeRun(run),
    invocation_id: isOne ? (only.invocations[0]?.invocation_id ?? null) : null,
  };
  const kind = outcome?.error == null ? 'error' : errorKind(outcome.error.kind);
  return notificationEvent('run_failure', owner, error ?? 'the run failed', { error_kind: kind });
}

/** Described by the first invocation; the times span all of them. */
function ownerOf({ row, invocations }: Subject, { plan, runId }: EndedRun): Owner {
  const [first] = invocations;
  assert(first !== undefined, 'a row without invocations');
  const started = earliest(invocations.map((one) => one.started_at));
  const finished = latest(invocations.map((one) => one.finished_at));
  return {
    pipeline: plan.name,
    row,
    run_id: runId,
    invocation_id: first.invocation_id,
    started_at: started,
    finished_at: finished,
    duration_secs:
      invocations.length === 1
        ? Math.max(0, first.duration_ms) / 1000
        : secondsBetween(started, finished),
  };
}

/** All of them are written alike, in UTC, and so sort by time. */
const earliest = (times: readonly string[]): string =>
  times.reduce((one, other) => (other < one ? other : one));
const latest = (times: readonly string[]): string =>
  times.reduce((one, other) => (other > one ? other : one));

function sum({ invocations }: Subject, pick: (invocation: InvocationOutcome) => number): number {
  return invocations.reduce((total, one) => total + pick(one), 0);
}

function errorKind(kind: ErrorKind): string {
  switch (kind) {
    case 'Config':
    case 'Source':
    case 'Sink':
    case 'State':
      return kind.toLowerCase();
    case 'QualityFailure':
      return 'quality';
    case 'SchemaDrift':
      return 'schema_drift';
    default:
      return 'error';
  }
}
