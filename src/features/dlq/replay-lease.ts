/**
 * One replay into a row at a time: of two, each would write the same records. A row with a state store
 * has a lease there: one that was frozen while another one began writes nothing more. Without one,
 * a replay has the files that it reads for itself, for as long as its process lives.
 */
import { realpath } from 'node:fs/promises';
import { opening, openState, type RollbackOptions } from '../../engine/rollback/find-run.ts';
import { fenceOfLease, type ExecutionFence } from '../../engine/row/execution-fence.ts';
import { releaseLease, takeLease } from '../../engine/row/state-lease.ts';
import { messageOf, RunError } from '../../lib/errors.ts';
import { lockFile } from '../../lib/files/file-lock.ts';
import type { PlannedRow } from '../../plan/plan.ts';

const AFTER_LOSS =
  'what it had written stays, and the other replay writes those records as well: a sink that appends then has them twice';

export interface Replaying extends Omit<RollbackOptions, 'row'> {
  /** Those with the dead letters. */
  readonly files: readonly string[];
}

/** Undefined for a row without a state store. Throws `RunError`. */
export async function leaseForReplay(
  request: Replaying,
  row: PlannedRow,
  closers: AsyncDisposableStack,
): Promise<ExecutionFence | undefined> {
  const { env, plan } = request;
  if (row.state === undefined) {
    await lockFiles(request, closers);
    return undefined;
  }
  const runId = env.ids.next();
  const store = await openState(opening(request, runId), row, closers);
  const conflict = (holder: string): string =>
    `dead letters of row \`${row.id}\` are being replayed by ${holder}: two at once would write the same records`;
  const leasing = { env, plan, row, runId, conflict, afterLoss: AFTER_LOSS };
  const lease = await takeLease(leasing, store, `${row.stateKey}::__replay__`);
  closers.defer(() => releaseLease(lease, env.log.at('headgate::dlq')));
  return fenceOfLease({ lease, clock: env.clock });
}

async function lockFiles(
  { files, env }: Pick<Replaying, 'files' | 'env'>,
  closers: AsyncDisposableStack,
): Promise<void> {
  const real = await Promise.all(files.map((file) => realpath(file)));
  for (const file of new Set(real)) {
    const lock = await lockFile(file, 'replay').catch((error: unknown) => {
      const why = { file, error: messageOf(error) };
      env.log.at('headgate::dlq').warn('another replay of it would not be noticed', why);
      return NOTHING;
    });
    if (lock === undefined) throw replayedBy(file);
    closers.use(lock);
  }
}

const NOTHING: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };

function replayedBy(file: string): RunError {
  return new RunError(
    'State',
    'state_held',
    `dead letters of ${file} are being replayed by another process: two at once would write the same records`,
    { hint: 'wait until it has ended, or stop it' },
  );
}
