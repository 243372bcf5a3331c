import { observabilityBlock } from '../blocks/observability/index.ts';
import { blockOf } from '../blocks/define-block.ts';
import { systemClock } from '../lib/time/clock.ts';
import { Outages } from '../lib/outages.ts';
import type { Plan } from '../plan/plan.ts';
import { ExecutionFence } from '../engine/row/execution-fence.ts';
import { openDocument } from '../runs/planning/open-document.ts';
import { notifiedPlanOf } from '../runs/planning/plan-summary.ts';
import { defineJob, type JobContext } from '../runs/worker/define-job.ts';
import type { Movement } from '../wire/catalog.ts';
import { runJobSchema, type RequestOf } from '../wire/job.ts';
import type { RunOutcome } from '../wire/outcome.ts';
import { ConfigError, RefusedError } from '../lib/errors.ts';
import { holdsCredentials } from './holds-credentials.ts';
import { observed } from './observers.ts';
import { sharingOf } from './share-shards.ts';

/**
 * Executes a run. This is the only place where its document is loaded and planned for execution.
 */
export const runJob = defineJob({
  kind: 'run',
  word: 'run',
  request: runJobSchema,
  execute: async (request, context): Promise<RunOutcome> => {
    const { parts, signal, send, threads } = context;
    const plan = await planOf(request, context);
    if (holdsCredentials(request.document, parts)) send({ kind: 'credentials' });
    const notified = notifiedPlanOf(plan);
    if (notified !== undefined && request.shard === undefined) send({ kind: 'planned', notified });
    const env = {
      ...context.env,
      log: context.logAt(blockOf(plan, observabilityBlock)?.tracing?.level),
    };
    const { execute } = await import('../engine/execute.ts');
    const movements: Movement[] = [];
    const outcome = await execute({
      plan,
      parts,
      ...(await observed(plan, env, {
        onMoved: (moved) => void movements.push(...moved),
        onOpened: (news) => send({ kind: 'opened', news }),
        outages,
      })),
      runId: request.run_id,
      fence:
        request.claim === undefined
          ? undefined
          : new ExecutionFence(request.claim, context.isOwned, env.clock),
      clock: new Date(request.clock),
      ...(request.zone === undefined ? {} : { zone: request.zone }),
      signal,
      onProgress: (progress) => send({ kind: 'progress', progress }),
      threads,
      sharing: sharingOf(request, plan, send),
      ...(request.concurrency === null ? {} : { concurrency: request.concurrency }),
    });
    if (movements.length > 0) send({ kind: 'moved', movements });
    return outcome;
  },
});

/** Receivers that failed, shared by all runs of this process. */
const outages = new Outages(systemClock);

async function planOf(request: RequestOf<'run'>, context: JobContext): Promise<Plan> {
  const plan = await openDocument(request.document, context).catch(notAgain);
  if (!request.reads_anew) return plan;
  return { ...plan, rows: plan.rows.map((row) => ({ ...row, readsAnew: true })) };
}

/** The document was valid when it was submitted. */
function notAgain(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error;
  throw new RefusedError('bad_config', `the document could not be loaded again: ${error.message}`, {
    cause: error,
  });
}
