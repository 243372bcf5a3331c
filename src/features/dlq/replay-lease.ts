/**
 * One replay into a row at a time: of two, each would write the same records. One that was frozen while
 * another one began writes nothing more.
 */
import { opening, tokensAt, type RollbackOptions } from '../../engine/rollback/find-run.ts';
import { fenceOfLease, type ExecutionFence } from '../../engine/row/execution-fence.ts';
import { openPart, partContext } from '../../engine/row/parts.ts';
import { releaseLease, takeLease } from '../../engine/row/state-lease.ts';
import { resolvePart } from '../../plan/resolve.ts';
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
  const { state } = row;
  if (state === undefined) return undefined;
  const runId = env.ids.next();
  const config = resolvePart(state, tokensAt(env.clock.now()));
  const context = partContext({ ...opening(request, runId), row });
  const store = await openPart(
    'State',
    state,
    () => state.definition.open(config, context),
    closers,
  );
  const conflict = (holder: string): string =>
    `dead letters of row \`${row.id}\` are being replayed by ${holder}: two at once would write the same records`;
  const leasing = { env, plan, row, runId, conflict, afterLoss: AFTER_LOSS };
  const lease = await takeLease(leasing, store, `${row.stateKey}::__replay__`);
  closers.defer(() => releaseLease(lease, env.log.at('headgate::dlq')));
  return fenceOfLease({ lease, clock: env.clock });
}
