import { describe, expect, it } from 'vitest';
import { aRun } from '../../../test/conformance/history.ts';
import { HistoryError, type History } from '../../history/history.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import type { DoctorReport } from '../../wire/doctor.ts';
import {
  CALLER,
  FakeClock,
  outcomeOf,
  progressOf,
  refusalOf,
  rest,
  submission,
  testService,
  type TestService,
} from '../../../test/support/runs.ts';

function raise(message: string): never {
  throw new Error(message);
}

const PROBE = { role: 'source' as const, connector: 'csv', name: 'read', elapsed_ms: 1 };
const HEALTHY: DoctorReport = {
  invocations: [{ id: 'row-0', probes: [{ ...PROBE, status: 'pass' }] }],
};
const SICK: DoctorReport = {
  invocations: [{ id: 'row-0', probes: [{ ...PROBE, status: 'fail', reason: 'no such file' }] }],
};

async function ended(
  service: TestService,
  over: Parameters<TestService['submit']>[0] = {},
): Promise<string> {
  const id = await service.submit(over);
  await rest();
  service.executor.last.finish();
  await rest();
  return id;
}

describe('submitting', () => {
  it('answers with the stored run, executes it and records how it ended', async () => {
    const service = await testService();
    const receipt = await service.runs.submit(
      submission({ name: 'orders', labels: { a: 'b' } }),
      CALLER,
    );
    expect(receipt).toEqual({
      run_id: receipt.run_id,
      status: 'queued',
      submitted_at: '2026-08-01T12:00:00.000Z',
    });
    await rest();
    expect(await service.record(receipt.run_id)).toMatchObject({
      status: 'running',
      name: 'orders',
      labels: { a: 'b' },
      elapsed_secs: 0,
    });
    await service.clock.advance(2500);
    expect((await service.record(receipt.run_id)).elapsed_secs).toBe(2.5);
    service.executor.last.finish();
    await rest();
    expect(await service.record(receipt.run_id)).toEqual({
      run_id: receipt.run_id,
      name: 'orders',
      labels: { a: 'b' },
      status: 'completed',
      submitted_at: '2026-08-01T12:00:00.000Z',
      started_at: '2026-08-01T12:00:00.000Z',
      finished_at: '2026-08-01T12:00:02.500Z',
      elapsed_secs: 2.5,
      records_written: 5,
      invocations: [],
      error: null,
      idempotency_key: null,
      doctor_report: null,
      attempt: 0,
    });
    expect(await service.measured('svc_serve_runs_total')).toEqual([
      'svc_serve_runs_total{status="completed",reason="ok"} 1',
    ]);
  });

  it('hands the worker the document as it was sent, and no secret', async () => {
    const service = await testService({ base: () => ({ content: '{"vars":{}}', hash: 'h' }) });
    service.env.redactor.register('hunter22');
    const config = '{"version": 1, "vars": {"key": "${env:KEY}"}}';
    const id = await service.submit({
      config,
      clock: '2026-01-01t01:00:00+01:00',
      concurrency: 3,
      timeout_secs: 9,
    });
    await rest();
    expect(service.executor.last.job).toEqual({
      version: 1,
      id,
      log_level: 'debug',
      is_level_chosen: false,
      request: {
        kind: 'run',
        run_id: id,
        document: { config, config_format: 'yaml', name: null, base: '{"vars":{}}' },
        clock: '2026-01-01T00:00:00.000Z',
        concurrency: 3,
        reads_anew: false,
      },
    });
    await service.submit({ name: 'n' });
    service.executor.last.finish();
    await rest();
    expect(service.executor.last.request).toMatchObject({
      clock: '2026-08-01T12:00:00.000Z',
      concurrency: null,
      document: { name: 'n' },
    });
  });

  it('audits it with the fingerprint of the document', async () => {
    const service = await testService();
    const id = await service.submit();
    expect(await service.runs.audit.list({ limit: 10 })).toEqual([
      {
        id: expect.any(String),
        timestamp: '2026-08-01T12:00:00.000Z',
        principal: 'ann',
        role: 'operator',
        action: 'run.submit',
        result: 'ok',
        run_id: id,
        config_fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
        source_ip: '::1',
      },
    ]);
  });

  it.each([
    ['a clock that is no time', { clock: 'yesterday' }, 'clock: "yesterday"'],
    ['a clock with a day that does not exist', { clock: '2026-02-30T00:00:00Z' }, 'clock:'],
    ['no concurrency at all', { concurrency: 0 }, 'concurrency is a count'],
    ['more concurrency than connectors take', { concurrency: 257 }, 'must be at most 256, got 257'],
  ])('refuses %s, and keeps nothing', async (_what, over, text) => {
    const service = await testService();
    expect(await refusalOf(service.submit(over))).toMatchObject({
      code: 'unprocessable',
      message: expect.stringContaining(text),
    });
    expect((await service.runs.list({ limit: 10 })).runs).toEqual([]);
  });

  it('passes on what is wrong with the document', async () => {
    const service = await testService();
    await expect(service.submit({ config: 'broken' })).rejects.toMatchObject({
      code: 'bad_config',
      stage: 'parse',
    });
  });

  it('executes at most as many as there are slots, in order, and refuses when the queue is full', async () => {
    const service = await testService();
    const ids = [await service.submit(), await service.submit(), await service.submit()];
    expect(await refusalOf(service.submit())).toMatchObject({ code: 'queue_full' });
    expect((await service.runs.readiness()).queueOk).toBe(false);
    expect(await service.measured('svc_serve_runs_queued')).toEqual(['svc_serve_runs_queued 2']);
    await rest();
    expect(service.executor.started.map((run) => run.job.id)).toEqual([ids[0]]);
    service.executor.last.finish();
    await rest();
    expect(service.executor.started.map((run) => run.job.id)).toEqual(ids.slice(0, 2));
    await expect(service.submit()).resolves.toBeDefined();
  });

  it('answers a repetition although the queue is full', async () => {
    const service = await testService();
    const first = await service.submit({ idempotency_key: 'k' });
    await service.submit();
    await service.submit();
    expect(await service.submit({ idempotency_key: 'k' })).toBe(first);
    expect(await refusalOf(service.submit({ idempotency_key: 'k', name: 'x' }))).toMatchObject({
      code: 'conflict',
    });
    expect(await refusalOf(service.submit({ idempotency_key: 'new' }))).toMatchObject({
      code: 'queue_full',
    });
    expect(await service.measured('svc_serve_idempotency_hits_total')).toEqual([
      'svc_serve_idempotency_hits_total 1',
    ]);
  });

  it('gives the place in the queue back whatever ends a submission early', async () => {
    const service = await testService({
      limits: { maxQueued: 0 },
      doctor: () => Promise.resolve(SICK),
    });
    for (let n = 0; n < 3; n += 1) await refusalOf(service.submit({ doctor_first: true }));
    const used = await service.submit({ idempotency_key: 'k' });
    await rest();
    service.executor.last.finish();
    await rest();
    for (let n = 0; n < 3; n += 1)
      expect(await service.submit({ idempotency_key: 'k' })).toBe(used);
    for (let n = 0; n < 3; n += 1)
      await refusalOf(service.submit({ idempotency_key: 'k', timeout_secs: 1 }));
    await expect(service.submit()).resolves.toBeDefined();
  });

  it('counts a simultaneous burst exactly', async () => {
    const service = await testService({ limits: { maxConcurrent: 2, maxQueued: 3 } });
    const all = await Promise.allSettled(Array.from({ length: 9 }, () => service.submit()));
    expect(all.filter((one) => one.status === 'fulfilled')).toHaveLength(5);
  });
});

describe('preflight', () => {
  it('stores the report of a healthy document', async () => {
    const service = await testService({ doctor: () => Promise.resolve(HEALTHY) });
    expect(
      (await service.record(await service.submit({ doctor_first: true }))).doctor_report,
    ).toEqual(HEALTHY);
    expect((await service.record(await service.submit())).doctor_report).toBeNull();
  });

  it('refuses a sick one with the report and stores no run', async () => {
    const service = await testService({ doctor: () => Promise.resolve(SICK) });
    expect(await refusalOf(service.submit({ doctor_first: true }))).toMatchObject({
      code: 'unprocessable',
      details: SICK,
    });
    expect((await service.runs.list({ limit: 10 })).runs).toEqual([]);
    expect(await service.runs.audit.list({ limit: 10 })).toEqual([]);
  });
});

describe('idempotency', () => {
  it('whoever submits is told whether the run is new', async () => {
    const service = await testService();
    const told: string[] = [];
    const how = { onAdmitted: (admission: string) => void told.push(admission) };
    for (const key of ['k', 'k', 'other'])
      await service.runs.submit(submission({ idempotency_key: key }), CALLER, how);
    expect(told).toEqual(['new', 'repeated', 'new']);
  });

  it('answers a repetition with the run as it is and its first time, once audited', async () => {
    const service = await testService();
    const id = await ended(service, { idempotency_key: 'k' });
    await service.clock.advance(5000);
    const again = await service.runs.submit(
      submission({ idempotency_key: 'k', doctor_first: true }),
      CALLER,
    );
    expect(again).toEqual({
      run_id: id,
      status: 'completed',
      submitted_at: '2026-08-01T12:00:00.000Z',
    });
    expect(service.executor.started).toHaveLength(1);
    expect(await service.runs.audit.list({ limit: 10 })).toHaveLength(1);
    expect(await service.measured('svc_serve_idempotency_hits_total')).toEqual([
      'svc_serve_idempotency_hits_total 1',
    ]);
  });

  it.each([
    ['document', { config: '{"version": 1, "a": 2}' }],
    ['concurrency', { concurrency: 2 }],
    ['clock', { clock: '2026-01-01T00:00:00Z' }],
    ['timeout', { timeout_secs: 5 }],
    ['labels', { labels: { a: 'b' } }],
    ['name', { name: 'other' }],
  ])('refuses the key with another %s', async (_what, over) => {
    const service = await testService();
    await service.submit({ idempotency_key: 'k' });
    expect(await refusalOf(service.submit({ idempotency_key: 'k', ...over }))).toMatchObject({
      code: 'conflict',
    });
  });

  it('does not care for the order of keys and labels', async () => {
    const service = await testService();
    const first = await service.submit({
      idempotency_key: 'k',
      config: '{"a": 1, "b": 2}',
      labels: { x: '1', y: '2' },
    });
    expect(
      await service.submit({
        idempotency_key: 'k',
        config: '{"b": 2, "a": 1}',
        labels: { y: '2', x: '1' },
      }),
    ).toBe(first);
  });

  it('starts afresh after the window, after a delete, and always when it is turned off', async () => {
    const service = await testService({ limits: { maxQueued: 9 } });
    const first = await ended(service, { idempotency_key: 'k' });
    await service.clock.jump(86_399_999);
    expect(await service.submit({ idempotency_key: 'k' })).toBe(first);
    await service.clock.jump(1);
    const second = await ended(service, { idempotency_key: 'k' });
    expect(second).not.toBe(first);
    await service.runs.delete(second, CALLER);
    expect(await service.submit({ idempotency_key: 'k' })).not.toBe(second);
    const off = await testService({ limits: { idempotencySecs: 0 } });
    expect(await off.submit({ idempotency_key: 'k' })).not.toBe(
      await off.submit({ idempotency_key: 'k' }),
    );
  });
});

describe('ending', () => {
  it('records what failed and what was written', async () => {
    const service = await testService();
    service.env.redactor.register('hunter22');
    const id = await service.submit();
    await rest();
    service.executor.last.finish({
      status: 'failed',
      records_written: 4,
      error: { code: 'x', kind: 'Sink', message: '1 invocation(s) failed: hunter22' },
    });
    await rest();
    expect(await service.record(id)).toMatchObject({
      status: 'failed',
      error: '1 invocation(s) failed: ***',
      records_written: 4,
    });
    expect(await service.measured('svc_serve_runs_total')).toEqual([
      'svc_serve_runs_total{status="failed",reason="error"} 1',
    ]);
  });

  it('records a worker that died, with the counts heard of last', async () => {
    const service = await testService();
    const id = await service.submit();
    await rest();
    service.executor.last.hear(progressOf({ records_written: 8 }));
    expect((await service.record(id)).records_written).toBe(8);
    service.executor.last.end({
      type: 'crashed',
      reason: 'it needed more memory than the limit of 64 MB',
    });
    await rest();
    expect(await service.record(id)).toMatchObject({
      status: 'failed',
      error: 'the run ended abnormally: it needed more memory than the limit of 64 MB',
      records_written: 8,
    });
    const events: unknown[] = [];
    for await (const event of await service.runs.followLog(id, new AbortController().signal))
      events.push(event);
    expect(events.at(-2)).toMatchObject({
      line: expect.stringContaining('ended abnormally: it needed more memory'),
    });
  });

  it('tells its listeners everything, in order, whatever one of them does', async () => {
    const told: string[] = [];
    const service = await testService({
      listeners: [
        {
          name: 'broken',
          follow: () => () => {
            throw new Error('a listener is broken');
          },
        },
        { name: 'unfit', follow: () => raise('a listener cannot begin') },
        {
          name: 'notes',
          follow:
            ({ name }) =>
            (event) =>
              void told.push(event.kind === 'ended' ? `${name} ${event.end.status}` : event.kind),
        },
      ],
    });
    const id = await service.submit({ name: 'n' });
    await rest();
    service.executor.last.hear({ kind: 'moved', movements: [] });
    service.executor.last.finish();
    await rest();
    expect(told).toEqual(['begun', 'log', 'moved', 'n completed']);
    expect((await service.record(id)).status).toBe('completed');
    expect(service.env.lines.map(({ line }) => line).join('\n')).toContain('a listener is broken');
  });

  it('takes back the in-flight gauges of a worker that died', async () => {
    const service = await testService();
    await service.submit();
    await rest();
    const gauge = {
      name: 'svc_sink_in_flight',
      type: 'gauge' as const,
      help: 'h',
      labels: ['row'],
    };
    service.executor.last.hear({
      kind: 'metrics',
      changes: [{ metric: gauge.name, op: 'set', labels: { row: 'a' }, value: 1 }],
      definitions: [gauge],
    });
    expect(await service.measured('svc_sink_in_flight')).toEqual(['svc_sink_in_flight{row="a"} 1']);
    service.executor.last.end({ type: 'crashed', reason: 'x' });
    await rest();
    expect(await service.measured('svc_sink_in_flight')).toEqual(['svc_sink_in_flight{row="a"} 0']);
  });

  it('ends a run that takes too long: asked first, failed then, naming the setting', async () => {
    const service = await testService();
    const id = await service.submit({ timeout_secs: 7 });
    await service.clock.advance(6999);
    expect(service.executor.last.stops).toEqual([]);
    await service.clock.advance(1);
    expect(service.executor.last.stops).toEqual([{ why: 'timeout', graceMs: 30_000 }]);
    service.executor.last.finish({ status: 'cancelled', records_written: 2 });
    await rest();
    expect(await service.record(id)).toMatchObject({
      status: 'failed',
      error: 'the run did not finish within its timeout_secs of 7',
      records_written: 2,
    });
    expect(await service.measured('svc_serve_runs_total')).toEqual([
      'svc_serve_runs_total{status="failed",reason="timeout"} 1',
    ]);
  });

  it('can wait longer than a timer can', async () => {
    const service = await testService();
    await service.submit({ timeout_secs: 100 * 86_400 });
    await rest();
    for (let day = 0; day < 99; day += 1) await service.clock.jump(86_400_000);
    expect(service.executor.last.stops).toEqual([]);
    await service.clock.jump(86_400_000);
    expect(service.executor.last.stops).toMatchObject([{ why: 'timeout' }]);
  });

  it('does not count the start of a worker as execution time', async () => {
    const service = await testService();
    service.executor.ready = false;
    await service.submit({ timeout_secs: 5 });
    await service.clock.advance(60_000);
    expect(service.executor.last.stops).toEqual([]);
    service.executor.last.hear({ kind: 'begun' });
    await service.clock.advance(5000);
    expect(service.executor.last.stops).toMatchObject([{ why: 'timeout' }]);
  });

  it('fails a run that waits for as long as it may take; another has all its time from its start', async () => {
    const service = await testService();
    await service.submit();
    const late = await service.submit({ timeout_secs: 5 });
    const timely = await service.submit({ timeout_secs: 6 });
    await service.clock.advance(4999);
    expect((await service.record(late)).status).toBe('queued');
    await service.clock.advance(1);
    expect(await service.record(late)).toMatchObject({
      status: 'failed',
      started_at: null,
      error: expect.stringContaining('within its timeout_secs of 5') as string,
    });
    service.executor.last.finish();
    await service.clock.advance(5999);
    expect(service.executor.started).toHaveLength(2);
    expect(service.executor.last.stops).toEqual([]);
    await service.clock.advance(1);
    expect(service.executor.last.stops).toMatchObject([{ why: 'timeout' }]);
    service.executor.last.finish({ status: 'cancelled' });
    await rest();
    expect((await service.record(timely)).status).toBe('failed');
  });
});

describe('cancelling', () => {
  it('ends a waiting run at once, without it ever starting', async () => {
    const service = await testService();
    const first = await service.submit();
    const second = await service.submit();
    expect(await service.runs.cancel(second, CALLER)).toBe('requested');
    expect(await service.record(second)).toMatchObject({
      status: 'cancelled',
      started_at: null,
      error: null,
      elapsed_secs: null,
    });
    expect((await service.record(first)).status).toBe('running');
    expect((await service.runs.audit.list({ limit: 1 }))[0]).toMatchObject({
      action: 'run.cancel',
      run_id: second,
    });
    service.executor.last.finish();
    await rest();
    expect(service.executor.started).toHaveLength(1);
  });

  it('asks an executing run to stop and keeps what it wrote', async () => {
    const service = await testService();
    const id = await service.submit();
    await rest();
    expect(await service.runs.cancel(id, CALLER)).toBe('requested');
    expect(service.executor.last.stops).toEqual([{ why: 'cancel', graceMs: 30_000 }]);
    expect((await service.record(id)).status).toBe('running');
    service.executor.last.finish({ status: 'cancelled', records_written: 3 });
    await rest();
    expect(await service.record(id)).toMatchObject({
      status: 'cancelled',
      error: null,
      records_written: 3,
    });
  });

  it.each([
    [
      'finishes all the same',
      { type: 'finished' as const, outcome: outcomeOf() },
      { status: 'completed' },
    ],
    [
      'has to be killed',
      { type: 'crashed' as const, reason: 'killed' },
      { status: 'cancelled', error: null },
    ],
    [
      'cannot flush',
      {
        type: 'finished' as const,
        outcome: outcomeOf({
          status: 'failed',
          error: { code: 'x', kind: 'Sink', message: 'flush failed' },
        }),
      },
      { status: 'failed', error: 'flush failed' },
    ],
  ])('tells the truth about a run that %s', async (_what, end, expected) => {
    const service = await testService();
    const id = await service.submit();
    await rest();
    await service.runs.cancel(id, CALLER);
    service.executor.last.end(end);
    await rest();
    expect(await service.record(id)).toMatchObject(expected);
  });

  it('cancels a run that is just being started before its worker gets it', async () => {
    const service = await testService();
    const id = await service.submit();
    await service.runs.cancel(id, CALLER);
    await rest();
    for (const run of service.executor.started) run.finish({ status: 'cancelled' });
    await rest();
    expect((await service.record(id)).status).toBe('cancelled');
  });

  it('does nothing to a run that has ended, and says so', async () => {
    const service = await testService();
    const id = await ended(service);
    expect(await service.runs.cancel(id, CALLER)).toBe('noop');
    expect(await service.runs.audit.list({ limit: 10 })).toHaveLength(1);
    expect(await refusalOf(service.runs.cancel('unknown', CALLER))).toMatchObject({
      code: 'not_found',
    });
  });

  it('is obeyed for a wish that another instance took', async () => {
    const service = await testService();
    const id = await service.submit();
    await rest();
    await service.history.requestCancel(id);
    await service.clock.advance(10_000);
    expect(service.executor.last.stops).toMatchObject([{ why: 'cancel' }]);
  });
});

describe('deleting', () => {
  it('removes ended runs only', async () => {
    const service = await testService();
    const id = await service.submit();
    expect(await refusalOf(service.runs.delete(id, CALLER))).toMatchObject({
      code: 'conflict',
      hint: 'cancel it first',
    });
    await rest();
    service.executor.last.finish();
    await rest();
    await service.runs.delete(id, CALLER);
    expect(await refusalOf(service.record(id))).toMatchObject({ code: 'not_found' });
    expect(await refusalOf(service.runs.delete(id, CALLER))).toMatchObject({ code: 'not_found' });
    expect((await service.runs.audit.list({ limit: 1 }))[0]).toMatchObject({
      action: 'run.delete',
      run_id: id,
    });
  });
});

describe('listing', () => {
  it('pages newest first with a cursor that ends', async () => {
    const service = await testService({ limits: { maxQueued: 9 } });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.unshift(await service.submit());
      await service.clock.advance(1000);
    }
    const first = await service.runs.list({ limit: 3 });
    expect(first.runs.map((run) => run.run_id)).toEqual(ids.slice(0, 3));
    expect(first.next_cursor).toBe(ids[2]);
    const second = await service.runs.list({ limit: 3, cursor: first.next_cursor ?? '' });
    expect(second.runs.map((run) => run.run_id)).toEqual(ids.slice(3));
    expect(second.next_cursor).toBeNull();
    const since = new Date('2026-08-01T12:00:04Z');
    expect((await service.runs.list({ limit: 9, since })).runs.map((run) => run.run_id)).toEqual(
      ids.slice(0, 1),
    );
    expect(
      (await service.runs.list({ limit: 9, status: ['running'] })).runs.map((run) => run.run_id),
    ).toEqual(ids.slice(4));
  });
});

describe('draining', () => {
  it('takes nothing new, lets everything finish within the grace, and signs off', async () => {
    const service = await testService();
    const ids = [await service.submit(), await service.submit()];
    const drained = service.runs.drain(60_000);
    expect(await refusalOf(service.submit())).toMatchObject({ code: 'unavailable' });
    expect((await service.runs.readiness()).draining).toBe(true);
    for (let run = 0; run < 2; run += 1) {
      await rest();
      service.executor.last.finish();
    }
    await drained;
    for (const id of ids) expect((await service.record(id)).status).toBe('completed');
    expect(await service.history.listInstances()).toEqual([]);
  });

  it('fails what is left when the grace is over', async () => {
    const service = await testService();
    const [running, waiting] = [await service.submit(), await service.submit()];
    const drained = service.runs.drain(60_000);
    await service.clock.advance(60_000);
    expect(service.executor.last.stops).toMatchObject([{ why: 'shutdown' }]);
    expect(await service.record(waiting)).toMatchObject({
      status: 'failed',
      started_at: null,
      error: expect.stringContaining('the server shut down before the run finished'),
    });
    service.executor.last.finish({ status: 'cancelled', records_written: 1 });
    await drained;
    expect(await service.record(running)).toMatchObject({
      status: 'failed',
      error: 'the server shut down before the run finished',
      records_written: 1,
    });
    expect(await service.measured('svc_serve_runs_total')).toEqual([
      'svc_serve_runs_total{status="failed",reason="server_shutdown"} 2',
    ]);
  });
});

describe('a history that does not answer', () => {
  function fragile(): { history: History; failing: { now: boolean } } {
    const failing = { now: false };
    const memory = new MemoryHistory();
    const history = new Proxy(memory, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]): unknown =>
          failing.now
            ? Promise.reject(new HistoryError('disk full'))
            : (Reflect.apply(value, target, values) as unknown);
      },
    });
    return { history, failing };
  }

  it('refuses requests, shows in readiness and metrics, and is noticed when it is back', async () => {
    const { history, failing } = fragile();
    const service = await testService({ history });
    failing.now = true;
    expect(await refusalOf(service.submit())).toMatchObject({ code: 'unavailable' });
    expect(await refusalOf(service.runs.audit.list({ limit: 1 }))).toMatchObject({
      code: 'unavailable',
    });
    await expect(
      service.runs.audit.record({ principal: 'p', role: 'viewer', action: 'a', result: 'denied' }),
    ).resolves.toBeUndefined();
    expect((await service.runs.readiness()).historyOk).toBe(false);
    expect(await service.measured('svc_serve_history_degraded')).toEqual([
      'svc_serve_history_degraded 1',
    ]);
    failing.now = false;
    await service.clock.advance(10_000);
    expect((await service.runs.readiness()).historyOk).toBe(true);
    expect(await service.measured('svc_serve_history_degraded')).toEqual([
      'svc_serve_history_degraded 0',
    ]);
    await expect(service.submit()).resolves.toBeDefined();
  });

  it('does not lose the result of a run meanwhile', async () => {
    const { history, failing } = fragile();
    const service = await testService({ history });
    const id = await service.submit();
    await rest();
    failing.now = true;
    service.executor.last.finish();
    await service.clock.advance(5000);
    failing.now = false;
    await service.clock.advance(1000);
    expect(await service.record(id)).toMatchObject({ status: 'completed', records_written: 5 });
  });

  it('shows runs that wait or execute here all the same', async () => {
    const { history, failing } = fragile();
    const service = await testService({ history });
    const [first, second] = [await service.submit(), await service.submit()];
    await rest();
    failing.now = true;
    expect(await service.record(first)).toMatchObject({ status: 'running', run_id: first });
    expect(await service.record(second)).toMatchObject({ status: 'queued', started_at: null });
    expect(await refusalOf(service.runs.get('another'))).toMatchObject({ code: 'unavailable' });
  });

  it('gives other servers time to renew their leases when it is back', async () => {
    const { history, failing } = fragile();
    const service = await testService({ history });
    const expired = '2026-08-01T12:00:20.000Z';
    await history.admit(aRun('other', { owner: 'other', lease_until: expired }), {});
    failing.now = true;
    await service.clock.advance(60_000);
    failing.now = false;
    await service.clock.advance(20_000);
    expect(await service.record('other')).toMatchObject({ status: 'queued' });
    await service.clock.advance(30_000);
    expect(await service.record('other')).toMatchObject({ status: 'failed' });
  });
});

describe('a run whose record belongs to somebody else', () => {
  it('is not executed, or stopped, and its result is refused', async () => {
    const service = await testService();
    const id = await service.submit();
    await rest();
    await service.history.failExpired('2027-01-01T00:00:00.000Z', 'lease expired');
    await service.clock.advance(10_000);
    expect(service.executor.last.stops).toMatchObject([{ why: 'shutdown' }]);
    service.executor.last.finish();
    await rest();
    expect(await service.record(id)).toMatchObject({
      status: 'failed',
      error: 'lease expired',
      records_written: 0,
    });
    expect(await service.measured('svc_serve_runs_total')).toEqual([]);
  });
});

describe('orphans', () => {
  it('fail at start and later when their lease expires, naming it; live ones stay', async () => {
    const history = new MemoryHistory();
    const clock = new FakeClock();
    await history.admit(
      aRun('dead', { owner: 'gone', lease_until: '2026-08-01T11:59:59.000Z' }),
      {},
    );
    await history.admit(
      aRun('later', { owner: 'gone', lease_until: '2026-08-01T12:00:15.000Z' }),
      {},
    );
    await history.admit(
      aRun('peer', { owner: 'peer', lease_until: '2026-08-01T13:00:00.000Z' }),
      {},
    );
    const service = await testService({ history, clock });
    expect(await service.record('dead')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('lease'),
    });
    expect((await service.record('later')).status).toBe('queued');
    await clock.advance(20_000);
    expect(await service.record('later')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('expired'),
    });
    expect((await service.record('peer')).status).toBe('queued');
    expect(await service.measured('svc_serve_runs_total')).toEqual([]);
  });

  it('do not come from this instance: its leases are renewed', async () => {
    const service = await testService();
    const id = await service.submit();
    const waiting = await service.submit();
    await service.clock.advance(600_000);
    expect((await service.record(id)).status).toBe('running');
    expect((await service.record(waiting)).status).toBe('queued');
  });
});
