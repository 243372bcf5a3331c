/** Executes a plan: its matrix or its graph, and the outcome of the whole. */
import { localOutputsBlock } from '../blocks/local-outputs/index.ts';
import { blockOf } from '../blocks/define-block.ts';
import {
  failureFacts,
  type InvocationOutcome,
  type OutcomeError,
  type RunOutcome,
} from '../wire/outcome.ts';
import type { ExecuteOptions } from './engine.ts';
import { outcomeErrorOf } from './failure.ts';
import { Observers } from './observe/observers.ts';
import { runMatrix } from './schedule/matrix.ts';
import type { TopologyOutcome } from './topology/run-topology.ts';

/** Never throws: a plan that cannot run gives a failed outcome. */
export async function execute(options: ExecuteOptions): Promise<RunOutcome> {
  const { env, plan, runId, clock, dryRun = false, limit } = options;
  const startedAt = env.clock.now();
  const observers = new Observers(options.observers ?? [], env.log.at('headgate::engine'));
  observers.notify((observer) =>
    observer.runStarted?.({ plan, runId, startedAt, clock, dryRun, limit, signal: options.signal }),
  );
  const outcome = await outcomeOf(options, observers, startedAt);
  const read = new Map([...observers.sampledSources].map(([id, sampler]) => [id, sampler.shape()]));
  observers.notify((observer) => observer.runEnded?.(outcome, read));
  const notified = observers.settled({ clock: env.clock, signal: anyOf(options) });
  if (options.onNotifying === undefined) await notified;
  else options.onNotifying(notified);
  return outcome;
}

/** Fires for a cooperative and for a hard stop. */
function anyOf({ signal, killSignal }: ExecuteOptions): AbortSignal {
  return killSignal === undefined ? signal : AbortSignal.any([signal, killSignal]);
}

async function outcomeOf(
  options: ExecuteOptions,
  observers: Observers,
  startedAt: Date,
): Promise<RunOutcome> {
  const { env, plan, fence } = options;
  const log = env.log.at('headgate::engine');
  log.info('pipeline run starting', {
    pipeline: plan.name,
    rows: plan.rows.length,
    run_id: options.runId,
  });
  if (fence?.claim !== undefined && fence.claim > 1)
    log.info(
      'servers took this run up before: it goes on behind the positions that are stored, and the counts in this log are those of this time',
      { times_before: fence.claim - 1 },
    );
  let outcomes: readonly InvocationOutcome[] = [];
  let nodes: RunOutcome['nodes'];
  let failure: OutcomeError | null = null;
  try {
    if (plan.topology === undefined) outcomes = await runMatrix(options, observers);
    else ({ invocations: outcomes, nodes, failure } = await runGraph(options, observers));
  } catch (error) {
    failure = outcomeErrorOf(error, env.redactor);
  }
  const failed = outcomes.filter((outcome) => outcome.status === 'failed');
  failure ??= summaryOf(failed);
  const cancelled = anyOf(options).aborted;
  const status = failure !== null ? 'failed' : cancelled ? 'cancelled' : 'completed';
  const written = outcomes.reduce((sum, outcome) => sum + outcome.balance.written, 0);
  if (failure === null)
    log.info(`pipeline run ${status}`, { pipeline: plan.name, records_written: written });
  else
    log.error('pipeline run failed', {
      pipeline: plan.name,
      records_written: written,
      ...failureFacts(failure, options.hasReceipt),
    });
  const outputs = blockOf(plan, localOutputsBlock);
  return {
    pipeline: plan.name,
    status,
    started_at: startedAt.toISOString(),
    finished_at: env.clock.now().toISOString(),
    records_written: written,
    invocations: outcomes,
    error: failure,
    ...(nodes === undefined ? {} : { nodes }),
    ...(outputs === undefined ? {} : { local_outputs: outputs }),
  };
}

async function runGraph(options: ExecuteOptions, observers: Observers): Promise<TopologyOutcome> {
  const { runTopology } = await import('./topology/run-topology.ts');
  return runTopology(options, { observers });
}

function summaryOf(failed: readonly InvocationOutcome[]): OutcomeError | null {
  const [first] = failed;
  if (first?.error == null) return null;
  return {
    ...first.error,
    message: `${failed.length} invocation(s) failed: ${first.row_id}: ${first.error.message}`,
  };
}
