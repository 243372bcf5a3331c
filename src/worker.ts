/**
 * Entry of a worker process: composes what one run needs and executes it. The server starts these
 * (`runs/worker/worker-pool.ts`), and says how many threads each may use.
 */
import { availableParallelism } from 'node:os';
import { documentOfTree } from './document/load.ts';
import { execute } from './engine/execute.ts';
import { observed } from './features/observers.ts';
import { systemClock } from './lib/time/clock.ts';
import type { Env } from './lib/env.ts';
import { uuidIds } from './lib/ids.ts';
import { parseJson, type JsonObject } from './lib/text/json.ts';
import { createLog } from './lib/log.ts';
import { Outages } from './lib/outages.ts';
import { parts } from './parts.ts';
import type { Plan } from './plan/plan.ts';
import { planDocument } from './plan/plan-document.ts';
import type { RunTicket } from './runs/worker/executor.ts';
import { runWorkerLoop, type RunDesk } from './runs/worker/worker-loop.ts';
import type { RunOutcome } from './wire/outcome.ts';

function envOf(ticket: RunTicket, desk: RunDesk): Env {
  const { redactor, metrics } = desk;
  return {
    clock: systemClock,
    ids: uuidIds,
    log: createLog({
      level: ticket.logLevel,
      target: 'headgate',
      clock: systemClock,
      redactor,
      write: desk.writeLog,
    }),
    metrics,
    redactor,
    fetch: globalThis.fetch,
    variables: process.env,
    cwd: process.cwd(),
  };
}

/** Work that is no run; `undefined` when the ticket is for one. */
async function errand(
  { runId, clock, verify, replay }: RunTicket,
  { signal }: RunDesk,
  world: { plan: Plan; env: Env },
): Promise<RunOutcome | undefined> {
  if (verify !== undefined) {
    const { verifyJob } = await import('./engine/verify/verify-job.ts');
    return verifyJob({
      ...world,
      parts,
      runId,
      clock: new Date(clock),
      stop: signal,
      kill: signal,
      task: verify,
    });
  }
  if (replay === undefined) return undefined;
  const { replayErrand } = await import('./features/dlq/replay.ts');
  return replayErrand({ ...world, ...replay, parts, signal });
}

function planOf(plan: Plan, { anew }: RunTicket): Plan {
  return anew === undefined
    ? plan
    : { ...plan, rows: plan.rows.map((row) => ({ ...row, readsAnew: anew })) };
}

const outages = new Outages(systemClock);

runWorkerLoop(async (ticket, desk) => {
  const document = documentOfTree(parseJson(ticket.document) as JsonObject, { name: ticket.name });
  const plan = planOf(planDocument(document, parts, { cpus: availableParallelism() }), ticket);
  const env = envOf(ticket, desk);
  const done = await errand(ticket, desk, { plan, env });
  if (done !== undefined) return done;
  return execute({
    plan,
    parts,
    ...(await observed(plan, env, { onMoved: desk.onMoved, onOpened: desk.onOpened, outages })),
    runId: ticket.runId,
    clock: new Date(ticket.clock),
    signal: desk.signal,
    onProgress: desk.onProgress,
    threads: Number(process.argv[2] ?? 0),
    ...(ticket.concurrency === null ? {} : { concurrency: ticket.concurrency }),
  });
});
