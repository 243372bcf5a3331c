/** Runs one check of a part: under a time limit, and whatever is thrown is a finding. */
import { createCredentials } from '../../credentials/index.ts';
import type { PartContext } from '../../kit/context.ts';
import type { Probe, ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf, StopReason } from '../../lib/errors.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import type { ExecuteOptions } from '../engine.ts';
import { firstIteration } from '../expand/iteration.ts';

export interface CheckOptions extends Pick<
  ExecuteOptions,
  'plan' | 'parts' | 'env' | 'clock' | 'signal'
> {
  /** Time limit of one check. */
  readonly timeoutMs: number;
}

export type Check = (context: PartContext, tokens: RuntimeTokens) => Promise<ProbeFinding[]>;

/** A partitioned row is checked by its first chunk. */
type Checked = Pick<PlannedRow, 'id'> & Partial<Pick<PlannedRow, 'partition'>>;

export async function runCheck(
  options: CheckOptions,
  check: Check,
  row: Checked,
): Promise<Probe[]> {
  const { env, plan, clock, timeoutMs } = options;
  const budget = new AbortController();
  const signal = AbortSignal.any([options.signal, budget.signal]);
  const timer = setTimeout(
    () => budget.abort(new StopReason('timeout', `no answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const from = env.clock.elapsedMs();
  const credentials = createCredentials(options.parts.credentials, plan.auth, { env, signal });
  const context: PartContext = {
    env,
    pipeline: plan.name,
    row: row.id,
    invocationId: env.ids.next(),
    signal,
    credentials,
  };
  const { records } = firstIteration({ id: row.id, partition: row.partition });
  let found: ProbeFinding[];
  try {
    found = await Promise.race([
      check(context, { now: { date: clock, zone: 'UTC' }, records }),
      expired(signal),
    ]);
  } catch (error) {
    const name = signal.aborted ? 'timeout' : 'construct';
    const hint =
      error instanceof AppError && error.hint !== undefined
        ? { hint: env.redactor.text(error.hint) }
        : {};
    found = [{ name, status: 'fail', reason: messageOf(error), ...hint }];
  } finally {
    clearTimeout(timer);
    budget.abort();
  }
  const elapsed = Math.round(env.clock.elapsedMs() - from);
  return found.map((finding) => ({ ...env.redactor.json(finding), elapsed_ms: elapsed }));
}

function expired(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
