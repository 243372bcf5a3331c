import type { Env } from '../lib/env.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunOutcome } from '../wire/outcome.ts';
import { outcomeErrorOf } from './failure.ts';

/** The result of a job that is no run. */
export type JobResult = Pick<RunOutcome, 'records_written' | 'error' | 'verification' | 'replay'>;

/** The outcome of such a job, as a worker process reports it. Never rejects: errors are in it. */
export async function jobOutcome(
  { plan, env }: { readonly plan: Plan; readonly env: Env },
  work: () => Promise<JobResult>,
): Promise<RunOutcome> {
  const startedAt = env.clock.now().toISOString();
  const result = await work().catch((error: unknown): JobResult => ({
    records_written: 0,
    error: outcomeErrorOf(error, env.redactor),
  }));
  return {
    pipeline: plan.name,
    status: result.error === null ? 'completed' : 'failed',
    started_at: startedAt,
    finished_at: env.clock.now().toISOString(),
    invocations: [],
    ...result,
  };
}
