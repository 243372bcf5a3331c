/** What an invocation is asked to do: the input of opening. */
import type { Credentials } from '../../kit/context.ts';
import type { Env } from '../../lib/env.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { isWholeIteration, type Iteration } from '../expand/iteration.ts';
import type { FailpointHook } from '../failpoints.ts';
import type { ThreadBudget } from '../threads/budget.ts';
import type { Capture } from './invocation.ts';
import type { ExecutionFence } from './execution-fence.ts';
import type { OutputClaims } from './output-claims.ts';

export interface InvocationRequest {
  readonly env: Env;
  readonly plan: Plan;
  readonly row: PlannedRow;
  readonly runId: string;
  /** Present where other servers may take the run over. */
  readonly fence?: ExecutionFence | undefined;
  readonly invocationId: string;
  readonly credentials: Credentials;
  readonly tokens: RuntimeTokens;
  readonly iteration: Iteration;
  /** Cooperative stop. */
  readonly stop: AbortSignal;
  /** Everything ends now. */
  readonly kill: AbortSignal;
  /** Of the whole run. */
  readonly claims: OutputClaims;
  readonly capture?: Capture | undefined;
  readonly concurrency?: number | undefined;
  readonly dryRun?: boolean | undefined;
  /** Records to write at most. */
  readonly limit?: number | undefined;
  /** The log gives the code of a failure, and the receipt its message. */
  readonly hasReceipt?: boolean | undefined;
  readonly onFailpoint?: FailpointHook | undefined;
  /** Absent where one thread works on the pages. */
  readonly threads?: ThreadBudget | undefined;
}

/** Dry and limited runs store neither bookmarks nor watermarks. */
export function storesPositions({
  dryRun,
  limit,
}: Pick<InvocationRequest, 'dryRun' | 'limit'>): boolean {
  return dryRun !== true && limit === undefined;
}

/** Whether its outcome can be compared with what is expected of a run of the row (`sla`). */
export function isWholeRun(request: InvocationRequest): boolean {
  const { row } = request;
  return row.role !== 'child' && row.shard === undefined && storesPositions(request);
}

/** Whether it wrote all that a run of the row writes, so that counts can be compared. */
export function isWholeRow(request: InvocationRequest): boolean {
  const { row, iteration } = request;
  return isWholeRun(request) && row.role === 'root' && isWholeIteration(iteration);
}
