/**
 * One replay into a row at a time: of two, each would write the same records. One that was frozen while
 * another one began writes nothing more.
 */
import { opening, openState, type RollbackOptions } from '../../engine/rollback/find-run.ts';
import { fenceOfLease, type ExecutionFence } from '../../engine/row/execution-fence.ts';
import { releaseLease, takeLease } from '../../engine/row/state-lease.ts';
import type { PlannedRow } from '../../plan/plan.ts';

const AFTER_LOSS =
  'what it had written stays, and the other replay writes those records as well: a sink that appends then has them twice';

/** Undefined for a row without a state store: nobody can know of another replay. Throws `RunError`. */
export async function leaseForReplay(
  request: Omit<RollbackOptions, 'row'>,
  row: PlannedRow,
  closers: AsyncDisposableStack,
): Promise<ExecutionFence | undefined> {
  const { env, plan } = request;
  if (row.state === undefined) return undefined;
  const runId = env.ids.next();
  const store = await openState(opening(request, runId), row, closers);
  const conflict = (holder: string): string =>
    `dead letters of row \`${row.id}\` are being replayed by ${holder}: two at once would write the same records`;
  const leasing = { env, plan, row, runId, conflict, afterLoss: AFTER_LOSS };
  const lease = await takeLease(leasing, store, `${row.stateKey}::__replay__`);
  closers.defer(() => releaseLease(lease, env.log.at('headgate::dlq')));
  return fenceOfLease({ lease, clock: env.clock });
}
