/** A worker for tests: the name of the run says what it does. */
import { pbkdf2 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, StopReason } from '../../../src/lib/errors.ts';
import { defineMetric } from '../../../src/lib/metrics/metrics.ts';
import type { RunOutcome } from '../../../src/wire/outcome.ts';
import { defineJob, type JobContext } from '../../../src/runs/worker/define-job.ts';
import { runWorkerLoop } from '../../../src/runs/worker/worker-loop.ts';
import { runJobSchema } from '../../../src/wire/job.ts';
import { FAKE_PARTS } from '../../fakes/parts.ts';

const RECORDS = defineMetric({
  name: 'svc_test_records_total',
  type: 'counter',
  help: 'Records.',
  labels: ['pipeline'],
});

let messages = 0;
let executed = 0;
process.on('message', () => {
  messages += 1;
});

function outcomeOf(pipeline: string, over: Partial<RunOutcome> = {}): RunOutcome {
  const now = new Date().toISOString();
  return {
    pipeline,
    status: 'completed',
    started_at: now,
    finished_at: now,
    records_written: 3,
    invocations: [],
    error: null,
    ...over,
  };
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const SCRIPTS: Readonly<
  Record<string, (name: string, context: JobContext) => Promise<RunOutcome>>
> = {
  quick: async (name, context) => {
    context.env.metrics.inc(RECORDS, { pipeline: name }, 3);
    return outcomeOf(name);
  },
  chatty: async (name, context) => {
    for (let line = 0; line < 5000; line += 1) context.env.log.info(`line ${line}`);
    for (let step = 1; step <= 100; step += 1) context.env.metrics.inc(RECORDS, { pipeline: name });
    return outcomeOf(name);
  },
  patient: async (name, context) => {
    await stopped(context.signal);
    const { reason } = context.signal;
    return outcomeOf(name, {
      status: 'cancelled',
      records_written: 2,
      pipeline: reason instanceof StopReason ? reason.why : 'unknown',
    });
  },
  slow: async (name) => {
    const end = performance.now() + 300;
    while (performance.now() < end);
    return outcomeOf(name, { records_written: process.pid });
  },
  /** Needs no processor. */
  waiting: async (name) => {
    await sleep(500);
    return outcomeOf(name);
  },
  /** How many jobs were begun so far. */
  executed: async (name) => outcomeOf(name, { records_written: executed }),
  /** How many messages came so far. */
  messages: async (name) => outcomeOf(name, { records_written: messages }),
  spinning: () => {
    for (;;) Math.sqrt(2);
  },
  blocked: () =>
    new Promise(() => {
      // As good as for ever, in a thread of the pool, where nothing interrupts it.
      pbkdf2('', '', 2 ** 31 - 1, 64, 'sha512', () => {});
    }),
  greedy: () => {
    const held: unknown[] = [];
    for (;;) held.push(Array.from({ length: 10_000 }, (_, n) => ({ n })));
  },
  throwing: async () => {
    throw new Error('the engine has a bug with token hunter22');
  },
  refusing: async () => {
    throw new AppError('no_such_part', 'hunter22 is not here');
  },
  late: async (name) => {
    setTimeout(() => {
      throw new Error('nobody caught this');
    }, 0);
    await new Promise(() => {});
    return outcomeOf(name);
  },
  exiting: () => process.exit(3),
  pid: async (name) => outcomeOf(name, { records_written: process.pid }),
};

const scriptedRun = defineJob({
  kind: 'run',
  word: 'run',
  request: runJobSchema,
  execute: async ({ document: { name } }, context) => {
    executed += 1;
    context.env.redactor.register('hunter22');
    context.env.log.info('pipeline run starting', { pid: process.pid });
    context.send({
      kind: 'progress',
      progress: {
        records_read: 1,
        records_written: 1,
        records_dead_lettered: 0,
        bytes_read: 0,
        row_id: 'row-0',
        invocations_done: 0,
      },
    });
    const script = SCRIPTS[name ?? ''];
    if (script === undefined) throw new Error(`no script ${name}`);
    return script(name ?? '', context);
  },
});

// As the entry of a real worker does at its very start.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
runWorkerLoop({ jobs: [scriptedRun], parts: FAKE_PARTS, threads: 0 });
