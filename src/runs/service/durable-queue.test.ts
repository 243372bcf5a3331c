/** Queued runs outlive the server that took them, when its history does. */
import { expect, it } from 'vitest';
import type { History, StoredRun } from '../../history/history.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import { aRun } from '../../../test/conformance/history.ts';
import {
  CALLER,
  FakeClock,
  refusalOf,
  rest,
  submission,
  testService,
  type TestService,
} from '../../../test/support/runs.ts';

/** Survives the services of a test. */
function durable(): History {
  return Object.assign(new MemoryHistory(), { persistent: true });
}

/** Nothing is heard of it any more; its instance is not signed off. */
async function kill({ history }: TestService): Promise<void> {
  for (const { instance_id } of await history.listInstances())
    await history.removeInstance(instance_id);
}

const startedBy = ({ executor }: TestService): string[] =>
  executor.started.map(({ job }) => job.id);

it('a queued run is executed once by the next server, as it was submitted', async () => {
  const history = durable();
  const base = { content: '{"vars":{"a":1}}', hash: 'h' };
  const first = await testService({ history, base: () => base });
  const running = await first.submit();
  const settings = { name: 'n', timeout_secs: 7, concurrency: 3, clock: '2026-01-01T00:00:00Z' };
  const queued = await first.submit({ config: '{"version": 1, "vars": {}}', ...settings });
  await rest();
  await kill(first);

  const clock = new FakeClock();
  await clock.advance(60_000);
  const next = await testService({ history, clock });
  await rest();
  expect(startedBy(next)).toEqual([queued]);
  expect(next.executor.last.request).toEqual({
    kind: 'run',
    run_id: queued,
    document: {
      config: '{"version": 1, "vars": {}}',
      config_format: 'yaml',
      name: 'n',
      base: base.content,
    },
    clock: '2026-01-01T00:00:00.000Z',
    concurrency: 3,
    reads_anew: false,
  });
  expect(await next.record(running)).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('lease'),
  });
  await next.clock.advance(7000);
  expect(next.executor.last.stops).toMatchObject([{ why: 'timeout' }]);
  next.executor.last.finish();
  await rest();
  expect(await next.record(queued)).toMatchObject({ status: 'completed', records_written: 5 });

  first.executor.last.finish();
  await rest();
  expect(startedBy(first)).toEqual([running]);
  expect((await next.record(queued)).status).toBe('completed');
});

it('two servers that find the same queued runs share them, and none is executed twice', async () => {
  const history = durable();
  const first = await testService({ history, limits: { maxQueued: 9 } });
  const ids: string[] = [];
  for (let run = 0; run < 6; run += 1) ids.push(await first.submit());
  await rest();
  await kill(first);
  const others = await Promise.all([testService({ history }), testService({ history })]);
  for (let round = 0; round < 12; round += 1) {
    await rest();
    for (const { executor } of others) executor.started.forEach((run) => run.finish());
  }
  expect(others.flatMap(startedBy).sort()).toEqual(ids.slice(1).sort());
  for (const id of ids.slice(1)) expect((await first.record(id)).status).toBe('completed');
});

it('no more are taken over than there is room for, and the others when there is room again', async () => {
  const history = durable();
  const first = await testService({ history, limits: { maxQueued: 20 } });
  const ids: string[] = [];
  for (let run = 0; run < 12; run += 1) ids.push(await first.submit());
  await rest();
  await kill(first);
  const next = await testService({ history, limits: { maxQueued: 2 } });
  await rest();
  expect(await refusalOf(next.submit())).toMatchObject({ code: 'queue_full' });
  for (let run = 1; run < 12; run += 1) {
    next.executor.last.finish();
    await rest();
    await rest();
  }
  expect(startedBy(next)).toEqual(ids.slice(1));
});

it('nothing is refused while a slow history looks for queued runs of servers that are gone', async () => {
  const history = durable();
  const answers: (() => void)[] = [];
  const server = await testService({ history, limits: { maxQueued: 1 } });
  history.adoptQueued = () => new Promise((resolve) => answers.push(() => resolve([])));
  await server.clock.advance(60_000);
  expect(answers).toHaveLength(1);
  await server.submit();
  await server.submit();
  expect(await refusalOf(server.submit())).toMatchObject({ code: 'queue_full' });
  answers.forEach((answer) => answer());
});

it('a drained server leaves its queued runs, and the next one takes them at once', async () => {
  const history = durable();
  const first = await testService({ history });
  const running = await first.submit();
  const queued = await first.submit();
  await rest();
  const early = eventsOf(await first.runs.followLog(queued, new AbortController().signal));
  await rest();
  const drained = first.runs.drain(60_000);
  expect(await early).toEqual([{ type: 'end', seq: 0 }]);
  first.executor.last.finish();
  await drained;
  expect((await first.record(running)).status).toBe('completed');
  expect(await first.record(queued)).toMatchObject({ status: 'queued', error: null });

  const next = await testService({ history });
  await rest();
  expect(startedBy(next)).toEqual([queued]);
});

it('a wish to cancel is obeyed by whoever takes the run over', async () => {
  const history = durable();
  const first = await testService({ history });
  await first.submit();
  const queued = await first.submit();
  await history.requestCancel(queued);
  await kill(first);
  const next = await testService({ history });
  await rest();
  expect(startedBy(next)).toEqual([]);
  expect(await next.record(queued)).toMatchObject({ status: 'cancelled', started_at: null });
});

it('whoever is called back is called by the next server, unless it takes a secret', async () => {
  const history = durable();
  const first = await testService({ history });
  await first.submit();
  const url = 'http://10.0.0.1/hook';
  const open = { url, method: 'POST', headers: {}, extra_fields: { team: 'a' } };
  const ids = [
    await first.submit({ callback: open }),
    await first.submit({ callback: { ...open, headers: { 'x-key': 'hunter22' } } }),
  ];
  expect(JSON.stringify(await history.adoptQueued(probe()))).not.toContain('hunter22');
  await kill(first);
  const called: string[] = [];
  const next = await testService({
    history,
    fetch: (_url, init) => {
      called.push(JSON.parse(init?.body as string).run_id as string);
      return Promise.resolve(new Response());
    },
  });
  for (let run = 0; run < 2; run += 1) {
    await rest();
    next.executor.last.finish();
  }
  await rest();
  expect(called).toEqual(ids.slice(0, 1));
  expect(next.env.lines.map(({ line }) => line).join('\n')).toContain(
    'header values or the login of its callback are not stored',
  );
});

/** Shows what is stored of abandoned runs; they are abandoned again. */
function probe() {
  const now = '2099-01-01T00:00:00.000Z';
  return { owner: 'probe', leaseUntil: '2000-01-01T00:00:00.000Z', now, limit: 9 };
}

it('values that a run was given go with it; secret ones are not stored, and nobody else executes it', async () => {
  const history = durable();
  const first = await testService({ history });
  await first.submit();
  const bound = { params: { day: 'monday', token: 'hunter22' }, env: {} };
  const open = await first.runs.submit(submission(), CALLER, {
    bound: { ...bound, secretParams: [] },
  });
  const secret = await first.runs.submit(submission(), CALLER, {
    bound: { ...bound, secretParams: ['token'] },
  });
  await rest();
  await kill(first);
  const stored = await history.adoptQueued(probe());
  expect(stored.map(({ submission: { content } }) => content.includes('hunter22'))).toEqual([
    true,
    false,
  ]);

  const clock = new FakeClock();
  await clock.advance(60_000);
  const next = await testService({ history, clock });
  await rest();
  expect(startedBy(next)).toEqual([open.run_id]);
  expect(next.executor.last.request).toMatchObject({ document: { bound } });
  expect(await next.record(secret.run_id)).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('secret values, which are not stored'),
  });
});

it('a submission that another build stored fails its run, and says why', async () => {
  const history = durable();
  const run: StoredRun = aRun('later', { owner: 'gone' });
  await history.admit(run, { submission: { content: '{"version":2}' } });
  const next = await testService({ history });
  await rest();
  expect(await next.record('later')).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('stored by another build'),
  });
});

it('the redactor of the server knows no more after many runs than before', async () => {
  const service = await testService({ limits: { maxConcurrent: 100, maxQueued: 100 } });
  const before = service.env.redactor.values();
  for (let run = 0; run < 50; run += 1) {
    await service.runs.submit(submission({ config: `{"vars": {"key": "secret-${run}"}}` }), CALLER);
    await rest();
    service.executor.last.finish();
  }
  await rest();
  expect(service.env.redactor.values()).toEqual(before);
});

async function eventsOf(log: AsyncIterable<unknown>): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of log) events.push(event);
  return events;
}
