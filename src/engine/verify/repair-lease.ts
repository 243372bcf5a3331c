/**
 * Nobody moves the position of a row while it is repaired. What a repair writes was read before: beside a
 * run, it would write older records over those of the run, or delete them, and no run would read
 * those again.
 */
import { resolvePart } from '../../plan/resolve.ts';
import { fenceOfLease, type ExecutionFence } from '../row/execution-fence.ts';
import { openPart, partContext } from '../row/parts.ts';
import { releaseLease, takeLease } from '../row/state-lease.ts';
import type { VerifySettings } from './settings.ts';

/** Undefined for a row that remembers no position: it reads everything again. Throws `RunError`. */
export async function leaseForRepair(
  settings: VerifySettings,
  closers: AsyncDisposableStack,
): Promise<ExecutionFence | undefined> {
  const { row, env, plan, runId, fence, tokens } = settings;
  const { state } = row;
  if (state === undefined) return undefined;
  const config = resolvePart(state, tokens);
  const open = async () => state.definition.open(config, partContext(settings));
  const store = await openPart('State', state, open, closers);
  const words = {
    conflict: (holder: string): string =>
      `the state \`${row.stateKey}\` is in use by ${holder}: a repair beside it could undo what it writes`,
    afterLoss: 'compare again: what this repair had written stays, and the rest is as it was',
  };
  const lease = await takeLease({ env, plan, row, runId, fence, ...words }, store, row.stateKey);
  closers.defer(() => releaseLease(lease, env.log.at('headgate::verify')));
  return fenceOfLease({ lease, clock: env.clock, run: fence });
}
