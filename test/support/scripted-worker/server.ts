/**
 * A server for tests that starts three runs, one stuck in a loop and one in a call of the system,
 * tells their process ids, and waits to be killed.
 */
import { systemClock } from '../../../src/lib/time/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { Redactor } from '../../../src/lib/redact.ts';
import { createWorkerPool } from '../../../src/runs/worker/worker-pool.ts';
import { runJobOf } from './job.ts';

const redactor = new Redactor();
const log = createLog({
  level: 'error',
  target: 'test',
  clock: systemClock,
  redactor,
  write: () => {},
});
const pool = createWorkerPool({
  env: { log, cwd: process.cwd(), variables: process.env },
  entry: process.argv[2] ?? '',
  maxWorkers: 3,
  spares: 0,
});
const pids: number[] = [];

for (const name of ['spinning', 'blocked', 'patient']) {
  pool.start(runJobOf(name), (event) => {
    const pid =
      event.kind === 'log' ? /pid=(\d+)/.exec(event.lines[0]?.line ?? '')?.[1] : undefined;
    if (pid === undefined) return;
    pids.push(Number(pid));
    if (pids.length === 3) process.send?.(pids);
  });
}
