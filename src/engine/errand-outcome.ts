import type { Env } from '../lib/env.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunOutcome } from '../wire/outcome.ts';
import { outcomeErrorOf } from './failure.ts';

/** What a piece of work that is no run came to. */
export type ErrandResult = Pick<
  RunOutcome,
  'records_written' | 'error' | 'verification' | 'replay'
>;

/**
 * The outcome of such work, as a worker process tells it. Never rejects: what is wrong is in the
 * outcome.
 */
export async function errandOutcome(
  { plan, env }: { readonly plan: Plan; readonly env: Env },
  work: () => Promise<ErrandResult>,
): Promise<RunOutcome> {
  const startedAt = env.clock.now().toISOString();
  const result = await work().catch((error: unknown): ErrandResult => ({
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
