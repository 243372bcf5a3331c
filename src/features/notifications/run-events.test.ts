import { describe, expect, it } from 'vitest';
import type { ErrorKind } from '../../lib/errors.ts';
import type { OutcomeError } from '../../wire/outcome.ts';
import { notificationsOf } from './run-events.ts';
import { after, endedRun, invocation, START } from '../../../test/support/notifications.ts';

const error = (kind: ErrorKind, message = 'it broke'): OutcomeError => ({
  code: 'broken',
  kind,
  message,
});
const failed = (row: string, kind: ErrorKind = 'Sink', message?: string) =>
  invocation(row, { error: error(kind, message) });
const listed = (run: Parameters<typeof notificationsOf>[0]): string[] =>
  notificationsOf(run).events.map(({ event, row }) => `${event} ${row}`);

describe('a run that completed', () => {
  it('has an event for each row, with its run and its times', () => {
    const { events, recovered } = notificationsOf(
      endedRun([invocation('eu'), invocation('us', { written: 4 })]),
    );
    expect(events).toMatchObject([
      { event: 'run_success', row: 'eu' },
      { event: 'run_success', row: 'us', details: { records_written: 4 } },
    ]);
    expect(events[0]).toEqual({
      event: 'run_success',
      severity: 'info',
      pipeline: 'orders',
      row: 'eu',
      run_id: 'run-1',
      invocation_id: 'invocation of eu',
      started_at: START,
      finished_at: after(2),
      duration_secs: 2,
      title: 'pipeline succeeded: orders / eu',
      message: 'records written: 3',
      details: { records_written: 3 },
    });
    expect(recovered).toEqual(['', 'eu', 'us']);
  });

  it('has no row name where the document has one row', () => {
    const run = endedRun([invocation('row-0')], { rows: { 'row-0': {} }, isOneRow: true });
    expect(notificationsOf(run)).toMatchObject({
      events: [{ row: '', title: 'pipeline succeeded: orders' }],
      recovered: [''],
    });
  });

  it('counts what ran below a row as part of it: child rows and chunks', () => {
    const child = { role: 'child', parent: { row: 'eu', key: 'id', fields: [] } } as const;
    const grandchild = { role: 'child', parent: { row: 'posts', key: 'id', fields: [] } } as const;
    const run = endedRun(
      [
        invocation('eu::partition::0', { started_at: after(1), finished_at: after(3) }),
        invocation('eu::partition::1', { finished_at: after(9) }),
        invocation('posts', { written: 10 }),
        invocation('likes', { written: 100 }),
      ],
      { rows: { eu: {}, posts: child, likes: grandchild } },
    );
    expect(notificationsOf(run).events).toMatchObject([
      {
        event: 'run_success',
        row: 'eu',
        invocation_id: 'invocation of eu::partition::0',
        details: { records_written: 116 },
      },
    ]);
    expect(notificationsOf(run).events[0]).toMatchObject({
      started_at: START,
      finished_at: after(9),
      duration_secs: 9,
    });
  });

  it('says nothing of rows that list values for others, but that they are well', () => {
    const run = endedRun([invocation('tenants'), invocation('eu')], { lists: ['tenants'] });
    expect([listed(run), notificationsOf(run).recovered]).toEqual([
      ['run_success eu'],
      ['', 'tenants', 'eu'],
    ]);
  });

  it('never took a negative time', () => {
    const run = endedRun([
      invocation('eu', { duration_ms: -5 }),
      invocation('us', { duration_ms: 0 }),
    ]);
    expect(notificationsOf(run).events.map((event) => event.duration_secs)).toEqual([0, 0]);
    const chunks = endedRun([
      invocation('eu::partition::0', { started_at: after(9), finished_at: after(1) }),
      invocation('eu::partition::1', { started_at: after(8), finished_at: after(2) }),
    ]);
    expect(notificationsOf(chunks).events.map((event) => event.duration_secs)).toEqual([0]);
  });
});

describe('what happened on the way', () => {
  it('has events beside its end: dead letters and service levels', () => {
    const run = endedRun([
      invocation('eu', {
        dead: 4,
        sla_violations: [
          { kind: 'min_rows', message: 'too few' },
          { kind: 'volume', message: 'unusual' },
        ],
      }),
    ]);
    expect(notificationsOf(run).events).toMatchObject([
      { event: 'run_success' },
      {
        event: 'sla_breach',
        severity: 'warning',
        title: 'SLA breach (min_rows): orders / eu',
        message: 'too few',
        details: { sla_kind: 'min_rows' },
      },
      { event: 'sla_breach', details: { sla_kind: 'volume' } },
      { event: 'dlq_threshold', severity: 'warning', details: { records_dlq: 4 } },
    ]);
  });

  it('has them for the nodes before the sinks of a graph', () => {
    const node = { kind: 'source', status: 'completed', error: null } as const;
    const counts = { records_in: 5, filtered: 0, expanded: 0, records_out: 3 };
    const run = endedRun([invocation('out')]);
    const nodes = [
      { ...node, ...counts, id: 'in', dead_lettered: 2 },
      { ...node, ...counts, id: 'other' },
    ];
    const outcome = run.outcome === undefined ? undefined : { ...run.outcome, nodes };
    expect(notificationsOf({ ...run, outcome }).events).toMatchObject([
      { event: 'run_success' },
      { event: 'dlq_threshold', row: 'in', run_id: 'run-1', details: { records_dlq: 2 } },
    ]);
  });

  it('has them for failed rows as well, summed up over what ran below a row', () => {
    const violation = { kind: 'staleness', message: 'too old' } as const;
    const chunk = (index: number) => ({
      ...failed(`eu::partition::${index}`),
      sla_violations: [violation],
      balance: invocation('eu', { dead: 2 }).balance,
    });
    expect(notificationsOf(endedRun([chunk(0), chunk(1)])).events).toMatchObject([
      { event: 'run_failure', message: 'eu::partition::0: it broke (and 1 more)' },
      { event: 'sla_breach', message: 'too old (and 1 more)' },
      { event: 'dlq_threshold', details: { records_dlq: 4 } },
    ]);
  });
});

describe('a row that failed', () => {
  it('says what kind of failure it was', () => {
    const kinds: ErrorKind[] = [
      'Config',
      'Source',
      'Sink',
      'State',
      'QualityFailure',
      'SchemaDrift',
      'Auth',
      'Transform',
      'Panic',
    ];
    const events = kinds.flatMap((kind) => notificationsOf(endedRun([failed('eu', kind)])).events);
    expect(new Set(events.map(({ event, severity }) => `${event} ${severity}`))).toEqual(
      new Set(['run_failure error']),
    );
    expect(events.map(({ details }) => details['error_kind'])).toEqual([
      'config',
      'source',
      'sink',
      'state',
      'quality',
      'schema_drift',
      'error',
      'error',
      'error',
    ]);
    expect(events[0]).toMatchObject({ title: 'pipeline failed: orders / eu', message: 'it broke' });
  });

  it('leaves the others as they are', () => {
    const run = endedRun([failed('eu'), invocation('us')]);
    expect([listed(run), notificationsOf(run).recovered]).toEqual([
      ['run_failure eu', 'run_success us'],
      ['us'],
    ]);
  });

  it('has exactly one event, the most specific', () => {
    const breaker = { consecutiveFailures: 3, cooldownSecs: 90 };
    const open = endedRun([failed('eu', 'CircuitOpen')], {
      rows: { eu: { blocks: { resilience: { breaker } } } },
    });
    expect(notificationsOf(open).events).toMatchObject([
      {
        event: 'circuit_open',
        severity: 'critical',
        title: 'circuit breaker open: orders / eu',
        details: { failures: 3, cooldown_secs: 90 },
      },
    ]);
    const breach = notificationsOf(endedRun([failed('eu', 'ContractViolation')])).events;
    expect(breach).toMatchObject([{ event: 'contract_abort', severity: 'error' }]);
    expect(breach[0]?.details).toEqual({});
    const chunks = [
      failed('eu::partition::0'),
      failed('eu::partition::1', 'ContractViolation'),
      failed('eu::partition::2', 'CircuitOpen'),
    ];
    expect(
      notificationsOf(endedRun(chunks, { rows: { eu: { blocks: { resilience: { breaker } } } } }))
        .events,
    ).toMatchObject([
      {
        event: 'circuit_open',
        invocation_id: 'invocation of eu::partition::2',
        details: { failures: 3 },
      },
    ]);
  });

  it('counts failures of its child rows as its own, and says whose they are', () => {
    const rows = {
      eu: {},
      posts: { role: 'child', parent: { row: 'eu', key: 'id', fields: [] } },
    } as const;
    const run = endedRun([invocation('eu'), failed('posts')], { rows });
    expect(notificationsOf(run)).toMatchObject({
      events: [{ event: 'run_failure', row: 'eu', message: 'posts: it broke' }],
      recovered: [],
    });
  });

  it('is reported when it only lists values', () => {
    expect(listed(endedRun([failed('tenants', 'Source')], { lists: ['tenants'] }))).toEqual([
      'run_failure tenants',
    ]);
  });

  it('is not reported when it was skipped or stopped because of another', () => {
    const skipped = invocation('us', {
      status: 'skipped',
      error: error('Custom', 'skipped: `eu` did not finish'),
    });
    expect(listed(endedRun([failed('eu'), skipped]))).toEqual(['run_failure eu']);
    const stopped = endedRun([failed('eu'), invocation('us', { status: 'cancelled', dead: 3 })]);
    expect([listed(stopped), notificationsOf(stopped).recovered]).toEqual([['run_failure eu'], []]);
  });
});

describe('a run that failed as a whole', () => {
  it('has an event of its own, because nothing else reports it', () => {
    const late = {
      status: 'failed',
      error: 'the run did not finish within its timeout_secs of 5',
    } as const;
    const run = endedRun([invocation('eu', { status: 'cancelled' }), invocation('us')], {
      run: late,
    });
    expect(notificationsOf(run).events[0]).toEqual({
      event: 'run_failure',
      severity: 'error',
      pipeline: 'orders',
      row: '',
      run_id: 'run-1',
      invocation_id: null,
      started_at: START,
      finished_at: after(5),
      duration_secs: 5,
      title: 'pipeline failed: orders',
      message: 'the run did not finish within its timeout_secs of 5',
      details: { error_kind: 'error' },
    });
    expect([listed(run), notificationsOf(run).recovered]).toEqual([
      ['run_failure ', 'run_success us'],
      ['us'],
    ]);
  });

  it('is that of its invocation where the document has one row', () => {
    const run = endedRun([invocation('row-0', { status: 'cancelled' })], {
      rows: { 'row-0': {} },
      isOneRow: true,
      run: { status: 'failed' },
    });
    expect(notificationsOf(run).events).toMatchObject([
      { event: 'run_failure', row: '', invocation_id: 'invocation of row-0' },
    ]);
  });

  it('may have left no outcome, or never have begun', () => {
    const crashed = {
      status: 'failed',
      error: 'the run ended abnormally',
      outcome: undefined,
    } as const;
    expect(notificationsOf(endedRun([], { run: crashed })).events).toMatchObject([
      { message: 'the run ended abnormally', started_at: START },
    ]);
    expect(
      notificationsOf(endedRun([], { run: { ...crashed, startedAt: null } })).events,
    ).toMatchObject([
      { event: 'run_failure', started_at: null, duration_secs: null, finished_at: after(5) },
    ]);
  });
});

it('a cancelled run has no notifications, whatever its rows did', () => {
  const cancelled = { run: { status: 'cancelled' } } as const;
  expect(notificationsOf(endedRun([invocation('eu', { dead: 5 })], cancelled))).toEqual({
    events: [],
    recovered: [],
  });
});
