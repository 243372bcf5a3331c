/** A worker for tests: the name of the run says what it does. */
import { pbkdf2 } from 'node:crypto';
import { AppError, StopReason } from '../../../src/lib/errors.ts';
import { defineMetric } from '../../../src/lib/metrics/metrics.ts';
import type { RunOutcome } from '../../../src/wire/outcome.ts';
import type { RunTicket } from '../../../src/runs/worker/executor.ts';
import { runWorkerLoop, type RunDesk } from '../../../src/runs/worker/worker-loop.ts';

const RECORDS = defineMetric({
  name: 'svc_test_records_total',
  type: 'counter',
  help: 'Records.',
  labels: ['pipeline'],
});

function outcomeOf(ticket: RunTicket, over: Partial<RunOutcome> = {}): RunOutcome {
  const now = new Date().toISOString();
  return {
    pipeline: ticket.name,
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

const SCRIPTS: Readonly<Record<string, (ticket: RunTicket, desk: RunDesk) => Promise<RunOutcome>>> =
  {
    quick: async (ticket, desk) => {
      desk.metrics.inc(RECORDS, { pipeline: ticket.name }, 3);
      return outcomeOf(ticket);
    },
    chatty: async (ticket, desk) => {
      const ts = new Date().toISOString();
      for (let line = 0; line < 5000; line += 1)
        desk.writeLog({ ts, level: 'INFO', line: `INFO test: line ${line}` });
      for (let step = 1; step <= 100; step += 1)
        desk.metrics.inc(RECORDS, { pipeline: ticket.name });
      return outcomeOf(ticket);
    },
    patient: async (ticket, desk) => {
      await stopped(desk.signal);
      const { reason } = desk.signal;
      return outcomeOf(ticket, {
        status: 'cancelled',
        records_written: 2,
        pipeline: reason instanceof StopReason ? reason.why : 'unknown',
      });
    },
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
    late: async (ticket) => {
      setTimeout(() => {
        throw new Error('nobody caught this');
      }, 0);
      await new Promise(() => {});
      return outcomeOf(ticket);
    },
    exiting: () => process.exit(3),
    pid: async (ticket) => outcomeOf(ticket, { records_written: process.pid }),
  };

runWorkerLoop(async (ticket, desk) => {
  desk.writeLog({
    ts: new Date().toISOString(),
    level: 'INFO',
    line: `INFO test: pipeline run starting pid=${process.pid}`,
  });
  desk.onProgress({
    records_read: 1,
    records_written: 1,
    records_dead_lettered: 0,
    bytes_read: 0,
    row_id: 'row-0',
    invocations_done: 0,
  });
  const script = SCRIPTS[ticket.name];
  if (script === undefined) throw new Error(`no script ${ticket.name}`);
  return script(ticket, desk);
});
