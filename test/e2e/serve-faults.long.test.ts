/** What the control plane survives: hostile runs, signals, and its own death. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { csvToJsonl, heapEater, silentApi, silentPipe, spinning } from './serve-documents.ts';
import { isAlive, workshop, type Program } from './serve-program.ts';

const shop = workshop();
const database = shop.path('empty.db');
const quick = (output: string) => csvToJsonl(shop.path('in.csv'), shop.path(output));
const closers: (() => void)[] = [];
let folders = 0;
/** Every program its own history, unless it is told another's. */
const start = (
  args: readonly string[] = [],
  dataDir = shop.path(`data-${(folders += 1)}`),
): Promise<Program> => shop.start({ args: ['--data-dir', dataDir, ...args] });

let hostile: Awaited<ReturnType<typeof startHostileRuns>>;

beforeAll(async () => {
  new DatabaseSync(database).close();
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  hostile = await startHostileRuns();
});
afterAll(async () => {
  await shop.dispose();
  for (const close of closers.splice(0)) close();
});

async function withApi(): ReturnType<typeof silentApi> {
  const api = await silentApi();
  closers.push(() => api.close());
  return api;
}

function withPipe(name: string, first?: string): string {
  const path = shop.path(name);
  const pipe = silentPipe(path, first);
  closers.push(() => pipe.release());
  return path;
}

/** Until the run has said so in its log. */
async function says(program: Program, runId: string, words: string): Promise<void> {
  const log = async (): Promise<string> =>
    (await program.call('GET', `/v1/runs/${runId}/logs?format=text`)).text;
  await eventually(async () => expect(await log()).toContain(words));
}

/** They take the whole grace of a stop to end, during which the other tests run. */
async function startHostileRuns() {
  const program = await start(['--max-concurrent-runs', '4']);
  const cancelled = await program.submit(spinning(database, shop.path('spin-1.jsonl')));
  const late = await program.submit(spinning(database, shop.path('spin-2.jsonl')), {
    timeout_secs: 1,
  });
  const greedy = await program.submit(heapEater(database, shop.path('heap.jsonl')));
  await says(program, cancelled, 'pipeline run starting');
  const cancel = await program.call('POST', `/v1/runs/${cancelled}/cancel`);
  const meanwhile = await program.submit(quick('meanwhile.jsonl'));
  return { program, cancelled, late, greedy, cancel, meanwhile };
}

/** Signals until the program is gone: echoes of the first signal do not count as a second one. */
async function insist(
  program: Program,
  signal: NodeJS.Signals,
): Promise<number | NodeJS.Signals | null> {
  await expect
    .poll(() => program.process.kill(signal) && program.process.exitCode === null, {
      timeout: 10_000,
      interval: 100,
    })
    .toBe(false);
  return program.stop(signal);
}

const noneAlive = (pids: readonly number[]): Promise<void> =>
  expect.poll(() => pids.filter(isAlive)).toEqual([]);

test('two hundred small runs all complete, in a few processes', { timeout: 90_000 }, async () => {
  const program = await start(['--max-concurrent-runs', '2', '--max-queued-runs', '200']);
  const ids = await Promise.all(
    Array.from({ length: 200 }, (_, index) => program.submit(quick(`many-${index}.jsonl`))),
  );
  const state = async (): Promise<number> =>
    (await program.list('?status=completed&limit=500')).runs.length;
  await expect.poll(state, { timeout: 60_000 }).toBe(200);
  expect(new Set((await program.list('?limit=500')).runs.map((run) => run.run_id))).toEqual(
    new Set(ids),
  );
  expect(program.workers('runs').length).toBeOneOf([1, 2]);
  // One that prepares documents (up to eight where the machine is so busy that one is slow), and one
  // that is ready for the next job.
  const jobs = program.workers('jobs').length;
  expect(jobs).toBeGreaterThan(0);
  expect(jobs).toBeLessThanOrEqual(9);
  // A run is counted when its end is on record.
  await expect
    .poll(async () => (await program.call('GET', '/metrics')).text)
    .toMatch(/^svc_serve_runs_total\{status="completed",reason="ok"\} 200$/m);
});

describe('a server that is killed', () => {
  test(
    'leaves no process, and fails at its next start what it was doing, and does what was queued',
    { timeout: 60_000 },
    async () => {
      const dataDir = shop.path('killed');
      const pipe = withPipe('pipe.csv');
      const api = await withApi();
      const before = await start(['--max-concurrent-runs', '3'], dataDir);
      const config = JSON.stringify(quick('early.jsonl'));
      const early = (
        await before.call('POST', '/v1/runs', { config, idempotency_key: 'once' })
      ).json() as { run_id: string };
      await before.ended(early.run_id);
      const spin = await before.submit(spinning(database, shop.path('killed-1.jsonl')));
      const blocked = await before.submit(csvToJsonl(pipe, shop.path('killed-2.jsonl')));
      const patient = await before.submit(api.document(shop.path('killed-3.jsonl')));
      await says(before, spin, 'pipeline run starting');
      await says(before, blocked, 'row started');
      await api.asked();
      const waiting = await before.submit(quick('killed-4.jsonl'));
      const workers = before.workers();
      expect(workers.length).toBeGreaterThanOrEqual(3);
      expect(await before.stop('SIGKILL')).toBe('SIGKILL');
      await noneAlive(workers);

      const after = await start([], dataDir);
      expect(await after.ended(waiting)).toMatchObject({ status: 'completed', records_written: 2 });
      for (const id of [spin, blocked, patient]) {
        const run = await after.get(id);
        expect(run).toMatchObject({
          status: 'failed',
          error: expect.stringContaining('the run was interrupted'),
          finished_at: expect.any(String),
        });
        expect((await after.call('GET', `/v1/runs/${id}/logs`)).text).toBe(
          'event: end\ndata: done\n\n',
        );
      }
      expect((await after.call('GET', `/v1/runs/${spin}/logs?format=text`)).text).toContain(
        'pipeline run starting',
      );
      expect(await after.get(early.run_id)).toMatchObject({
        status: 'completed',
        records_written: 2,
      });
      expect((await after.call('GET', `/v1/runs/${early.run_id}/logs?format=text`)).text).toContain(
        'pipeline run completed',
      );
      const repeated = await after.call('POST', '/v1/runs', { config, idempotency_key: 'once' });
      expect(repeated.json()).toMatchObject({ run_id: early.run_id, status: 'completed' });
      expect((await after.ended(await after.submit(quick('killed-5.jsonl')))).status).toBe(
        'completed',
      );
    },
  );

  test(
    'leaves no half-written output that anybody could take for a whole one',
    { timeout: 60_000 },
    async () => {
      const dataDir = shop.path('killed-writing');
      const rows = Array.from({ length: 20_000 }, (_, index) => `${index},filler`);
      writeFileSync(shop.path('long.csv'), `id,filler\n${rows.join('\n')}\n`);
      const output = shop.path('long.jsonl');
      const before = await start([], dataDir);
      const id = await before.submit(
        csvToJsonl(withPipe('long-pipe.csv', shop.path('long.csv')), output),
      );
      await expect.poll(async () => (await before.get(id)).records_written).toBeGreaterThan(0);
      const workers = before.workers();
      await before.stop('SIGKILL');
      await noneAlive(workers);

      const after = await start([], dataDir);
      expect((await after.get(id)).status).toBe('failed');
      expect(
        (await after.ended(await after.submit(csvToJsonl(shop.path('long.csv'), output))))
          .records_written,
      ).toBe(rows.length);
      expect(readFileSync(output, 'utf8').trimEnd().split('\n')).toHaveLength(rows.length);
    },
  );
});

describe('a server that is asked to stop', () => {
  test('takes no more, lets runs finish within the grace, and keeps what they did', async () => {
    const dataDir = shop.path('drained');
    const api = await withApi();
    const program = await start([], dataDir);
    const id = await program.submit(api.document(shop.path('drained.jsonl')));
    await api.asked();
    program.process.kill('SIGTERM');
    await expect.poll(async () => (await program.call('GET', '/readyz')).status).toBe(503);
    const refused = await program.call('POST', '/v1/runs', {
      config: JSON.stringify(quick('refused.jsonl')),
    });
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ error: { code: 'unavailable' } });
    expect((await program.get(id)).status).toBe('running');
    const log = program.call('GET', `/v1/runs/${id}/logs`);
    api.answer();
    expect((await log).text).toMatch(/pipeline run completed[\s\S]*event: end/);
    expect(await program.stop('SIGCONT')).toBe(0);
    expect(await (await start([], dataDir)).get(id)).toMatchObject({
      status: 'completed',
      records_written: 1,
    });
  });

  test('fails what has not ended when the grace is over, says why, and leaves what was queued to the next', async () => {
    const dataDir = shop.path('overdue');
    const api = await withApi();
    const program = await start(
      ['--max-concurrent-runs', '1', '--shutdown-grace-secs', '1'],
      dataDir,
    );
    const running = await program.submit(api.document(shop.path('overdue-1.jsonl')));
    await program.until(running, 'running');
    const waiting = await program.submit(quick('overdue-2.jsonl'));
    expect(await program.stop()).toBe(0);
    expect(existsSync(shop.path('overdue-2.jsonl'))).toBe(false);
    expect(program.output()).toContain('SIGTERM: letting runs finish, for at most 1 s');
    const next = await start([], dataDir);
    const shutDown = {
      status: 'failed',
      error: expect.stringContaining('the server shut down before the run finished'),
    };
    expect(await next.get(running)).toMatchObject(shutDown);
    expect(await next.ended(waiting)).toMatchObject({ status: 'completed', records_written: 2 });
  });

  test('ends at once at a second signal, and takes its workers along, even one that hangs in the system', async () => {
    const program = await start();
    const id = await program.submit(csvToJsonl(withPipe('second.csv'), shop.path('second.jsonl')));
    await says(program, id, 'row started');
    const workers = program.workers();
    expect(await insist(program, 'SIGTERM')).toBe(143);
    await noneAlive(workers);
  });
});

test(
  'runs that compute for ever or exhaust their memory end alone; the server answers and goes on',
  { timeout: 120_000 },
  async () => {
    const { program, cancelled, late, greedy, cancel, meanwhile } = hostile;
    expect(cancel.status).toBe(202);
    expect((await program.ended(meanwhile)).status).toBe('completed');
    expect((await program.call('GET', '/healthz')).status).toBe(200);
    const memory = await program.endedAtLast(greedy);
    expect(memory).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^the run ended abnormally: it needed more memory than .* MB/),
    });
    expect((await program.call('GET', `/v1/runs/${greedy}/logs?format=text`)).text).toMatch(
      /ERROR .* ended abnormally: it needed more memory/,
    );
    expect(await program.endedAtLast(cancelled)).toMatchObject({
      status: 'cancelled',
      error: null,
    });
    expect(await program.endedAtLast(late)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(
        /timeout_secs of 1: it did not stop within \d+ s and was ended by force$/,
      ),
    });
    expect((await program.ended(await program.submit(quick('after.jsonl')))).status).toBe(
      'completed',
    );
  },
);
