import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import type { LogLine } from '../../lib/log.ts';
import type { MetricChange, MetricDefinition } from '../../lib/metrics/metrics.ts';
import type { Progress, RunOutcome } from '../../wire/outcome.ts';
import type { JobEnd } from '../../wire/job.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import { runJobOf } from '../../../test/support/scripted-worker/job.ts';
import type { JobExecutor, JobHandle } from './executor.ts';
import type { ToWorker } from './protocol.ts';
import { createWorkerPool, type WorkerPoolOptions } from './worker-pool.ts';

const ENTRY = fileURLToPath(
  new URL('../../../test/support/scripted-worker/worker.ts', import.meta.url),
);
const pools: JobExecutor[] = [];

function pool(options: Partial<WorkerPoolOptions> = {}): JobExecutor {
  const made = createWorkerPool({
    env: testEnv(),
    entry: ENTRY,
    maxWorkers: 2,
    heapMb: 64,
    ...options,
  });
  pools.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((one) => one.close()));
});

class Heard {
  readonly lines: LogLine[] = [];
  readonly changes: MetricChange[] = [];
  readonly definitions: MetricDefinition[] = [];
  readonly progress: Progress[] = [];
  readonly started: Promise<void>;
  #start: () => void = () => {};

  constructor() {
    this.started = new Promise((resolve) => {
      this.#start = resolve;
    });
  }

  begun = 0;

  readonly hear = (event: RunEvent): void => {
    if (event.kind === 'begun') this.begun += 1;
    if (event.kind === 'progress') this.progress.push(event.progress);
    if (event.kind === 'metrics') {
      this.changes.push(...event.changes);
      this.definitions.push(...event.definitions);
    }
    if (event.kind !== 'log') return;
    this.lines.push(...event.lines);
    this.#start();
  };
}

async function begin(
  executor: JobExecutor,
  name: string,
): Promise<{ handle: JobHandle; heard: Heard }> {
  const heard = new Heard();
  const handle = executor.start(runJobOf(name), heard.hear);
  await heard.started;
  return { handle, heard };
}

async function whole(executor: JobExecutor, name: string): Promise<{ end: JobEnd; heard: Heard }> {
  const heard = new Heard();
  return { end: await executor.start(runJobOf(name), heard.hear).done, heard };
}

/** Resolves when the event loop of this process has turned `turns` times. */
async function turns(count: number): Promise<number> {
  let seen = 0;
  while (seen < count) {
    await new Promise((resolve) => setImmediate(resolve));
    seen += 1;
  }
  return seen;
}

const gone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('worker pool', () => {
  it('executes a run in another process and passes on what it says', async () => {
    const { end, heard } = await whole(pool(), 'quick');
    expect(end).toMatchObject({
      type: 'finished',
      answer: { status: 'completed', records_written: 3 },
    });
    expect(heard.begun).toBe(1);
    expect(heard.lines[0]?.line).toContain('pipeline run starting');
    expect(heard.lines[0]?.line).not.toContain(`pid=${process.pid}`);
    expect(heard.changes).toEqual([
      { metric: 'svc_test_records_total', op: 'inc', labels: { pipeline: 'quick' }, value: 3 },
    ]);
    expect(heard.definitions.map((definition) => definition.name)).toEqual([
      'svc_test_records_total',
    ]);
    expect(heard.progress.at(-1)).toMatchObject({ records_written: 1 });
  });

  it('delivers every log line in order and every measurement, summed, before the end', async () => {
    const { heard } = await whole(pool(), 'chatty');
    expect(heard.lines.slice(1).map(({ line }) => line)).toEqual(
      Array.from({ length: 5000 }, (_, line) => `INFO headgate: line ${line}`),
    );
    expect(heard.changes.reduce((sum, change) => sum + change.value, 0)).toBe(100);
  });

  it('uses a process again, and replaces it after its share of runs', async () => {
    const executor = pool({ maxWorkers: 1, jobsPerWorker: 2 });
    const pids: unknown[] = [];
    for (let run = 0; run < 3; run += 1) {
      const { end } = await whole(executor, 'pid');
      pids.push(end.type === 'finished' ? (end.answer as RunOutcome).records_written : end);
    }
    expect(pids[0]).toBe(pids[1]);
    expect(pids[2]).not.toBe(pids[0]);
    expect(typeof pids[2]).toBe('number');
  });

  it('lets runs wait when every process is taken', async () => {
    const executor = pool({ maxWorkers: 1 });
    const { handle } = await begin(executor, 'patient');
    const second = executor.start(runJobOf('quick'), new Heard().hear);
    const third = executor.start(runJobOf('quick'), new Heard().hear);
    third.stop('cancel', 1000);
    expect(await third.done).toMatchObject({ type: 'crashed' });
    handle.stop('cancel', 60_000);
    expect(await handle.done).toMatchObject({
      type: 'finished',
      answer: { pipeline: 'cancel', records_written: 2 },
    });
    expect(await second.done).toMatchObject({ type: 'finished' });
  });

  it.each(['cancel', 'timeout', 'shutdown'] as const)(
    'tells a run why it shall stop: %s',
    async (why) => {
      const { handle } = await begin(pool(), 'patient');
      handle.stop(why, 60_000);
      expect(await handle.done).toMatchObject({ type: 'finished', answer: { pipeline: why } });
    },
  );
});

describe('isolation', () => {
  it('ends a run that spins for ever by force, with this process free all the while, and executes the next', async () => {
    const executor = pool({ maxWorkers: 1 });
    const { handle, heard } = await begin(executor, 'spinning');
    expect(await turns(50)).toBe(50);
    handle.stop('cancel', 20);
    const [end, seen] = await Promise.all([handle.done, turns(50)]);
    expect(end).toMatchObject({
      type: 'crashed',
      reason: 'it did not stop within 0.02 s and was ended by force',
    });
    expect(seen).toBe(50);
    expect(heard.lines[0]?.line).toContain('pipeline run starting');
    expect((await whole(executor, 'quick')).end.type).toBe('finished');
  });

  it('ends a run that needs too much memory, names the limit, and executes the next', async () => {
    const executor = pool({ maxWorkers: 1 });
    const { end } = await whole(executor, 'greedy');
    expect(end).toMatchObject({
      type: 'crashed',
      reason:
        'it needed more memory than the limit of 64 MB; smaller pages (`batch_size`) need less',
    });
    expect((await whole(executor, 'quick')).end.type).toBe('finished');
  });

  it('tells what broke a worker, without secrets', async () => {
    const executor = pool();
    expect((await whole(executor, 'throwing')).end).toMatchObject({
      type: 'crashed',
      reason: 'its worker process broke down: the engine has a bug with token ***',
    });
    expect((await whole(executor, 'late')).end).toMatchObject({
      type: 'crashed',
      reason: 'its worker process broke down: nobody caught this',
    });
    expect((await whole(executor, 'exiting')).end).toMatchObject({
      type: 'crashed',
      reason: 'its worker process ended unexpectedly with exit status 3',
    });
    expect((await whole(executor, 'quick')).end.type).toBe('finished');
  });

  it('fails a run that cannot be executed there, and keeps the process', async () => {
    const executor = pool({ maxWorkers: 1 });
    expect((await whole(executor, 'refusing')).end).toMatchObject({
      type: 'refused',
      fault: { family: 'other', error: { code: 'no_such_part', message: '*** is not here' } },
    });
    expect((await whole(executor, 'quick')).end.type).toBe('finished');
  });

  it('refuses what a server of another build asks for, in a sentence, and keeps the process', async () => {
    const executor = pool({ maxWorkers: 1 });
    const job = runJobOf('quick');
    const ask = (changed: object) => executor.start({ ...job, ...changed }, () => {}).done;
    const otherBuild = (what: string) => ({
      type: 'refused',
      fault: {
        code: 'unavailable',
        message: `the worker process was given ${what}`,
        hint: 'the server and its worker are of different builds: restart the server',
      },
    });
    expect(await ask({ version: 2 })).toMatchObject(
      otherBuild('a job of version 2, and takes version 1'),
    );
    expect(await ask({ request: { kind: 'dream' } })).toMatchObject(
      otherBuild('a job `dream` that it cannot read'),
    );
    expect(await ask({ request: { ...job.request, more: 1 } })).toMatchObject(
      otherBuild('a job `run` that it cannot read'),
    );
    expect((await whole(executor, 'quick')).end.type).toBe('finished');
  });

  it('fails a run whose worker cannot even start', async () => {
    const executor = pool({ entry: fileURLToPath(new URL('no-such-worker.ts', import.meta.url)) });
    expect((await whole(executor, 'quick')).end).toMatchObject({
      type: 'crashed',
      reason: expect.stringContaining('exit status 1'),
    });
  });

  it('kills what executes when it is closed', async () => {
    const executor = pool();
    const { handle } = await begin(executor, 'spinning');
    await executor.close();
    expect(await handle.done).toMatchObject({ type: 'crashed' });
    expect(await executor.start(runJobOf('quick'), new Heard().hear).done).toMatchObject({
      type: 'crashed',
    });
  });

  it('leaves no process behind when the server dies, not even one that spins or hangs in the system', async () => {
    const server = fork(
      fileURLToPath(new URL('../../../test/support/scripted-worker/server.ts', import.meta.url)),
      [ENTRY],
      {
        execArgv: [],
        serialization: 'advanced',
      },
    );
    const pids = await new Promise<readonly number[]>((resolve) => {
      server.on('message', (message) => resolve(message as readonly number[]));
    });
    expect(pids).toHaveLength(3);
    server.kill('SIGKILL');
    await until(() => pids.every(gone));
  });
});

describe('jobs of a moment', () => {
  const HOUR_MS = 3_600_000;
  const onOneProcessor = (): JobExecutor =>
    pool({ maxWorkers: 4, processors: 1, shortWaitMs: HOUR_MS, processWaitMs: HOUR_MS });
  const pidsOf = async (executor: JobExecutor, names: readonly string[]): Promise<unknown[]> => {
    const all = await Promise.all(names.map((name) => whole(executor, name)));
    return all.map(({ end }) => (end as { answer?: RunOutcome }).answer?.records_written);
  };

  it('wait for the worker that is at one: processes would only share its processor', async () => {
    const executor = onOneProcessor();
    const [first] = await pidsOf(executor, ['pid']);
    const pids = await pidsOf(executor, Array<string>(20).fill('pid'));
    expect(new Set(pids)).toEqual(new Set([first]));
  });

  it('do not wait behind those that wait for something themselves', async () => {
    const executor = onOneProcessor();
    await whole(executor, 'waiting');
    const first = await begin(executor, 'patient');
    const second = await begin(executor, 'patient');
    for (const { handle } of [first, second]) handle.stop('cancel', HOUR_MS);
    expect(await first.handle.done).toMatchObject({ type: 'finished' });
    expect(await second.handle.done).toMatchObject({ type: 'finished' });
  });

  it('get a worker of their own when the one they wait for takes long', async () => {
    const executor = pool({ processors: 1 });
    const { handle } = await begin(executor, 'spinning');
    expect((await whole(executor, 'pid')).end.type).toBe('finished');
    handle.stop('cancel', 0);
    await handle.done;
  });
});

describe('the signals of a terminal', () => {
  it('do not fail a job whose worker they ended before its first line', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-worker-'));
    const entry = join(folder, 'entry.mjs');
    const mark = JSON.stringify(join(folder, 'was-here'));
    writeFileSync(
      entry,
      `import { existsSync, writeFileSync } from 'node:fs';
      if (existsSync(${mark})) await import(${JSON.stringify(ENTRY)});
      else {
        writeFileSync(${mark}, '');
        process.kill(process.pid, 'SIGTERM');
      }`,
    );
    try {
      const { end } = await whole(pool({ entry, spares: 0 }), 'quick');
      expect(end).toMatchObject({ type: 'finished' });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('do not end a worker: the server decides', async () => {
    const worker = fork(ENTRY, [], { execArgv: [], serialization: 'advanced', stdio: 'ignore' });
    const heard: { type: string }[] = [];
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.on('message', (message) => heard.push(message as { type: string }));
    await until(() => heard.length > 0);
    worker.kill('SIGINT');
    worker.kill('SIGTERM');
    worker.send({ type: 'jobs', jobs: [runJobOf('quick')] } satisfies ToWorker);
    await until(() => heard.some((message) => message.type === 'done'));
    worker.send({ type: 'exit' } satisfies ToWorker);
    expect(await ended).toBe(0);
  });
});
