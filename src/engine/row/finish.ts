/** Finishes an invocation whose pages were all moved, or that failed. */
import { messageOf } from '../../lib/errors.ts';
import type { FinishReason } from '../../kit/sink.ts';
import { cleanUp } from '../after-run/clean-up.ts';
import { flushAll } from '../delivery/checkpoint.ts';
import { wrapConnectorError } from '../failure.ts';
import type { RollbackLog } from '../rollback/rollback-log.ts';
import type { Invocation } from './invocation.ts';

/** What finishing needs to know beside the invocation. */
export interface Moved {
  /** The source was read from its beginning, so keys that were not seen are gone there. */
  readonly fromBeginning: boolean;
  readonly rollbackLog: RollbackLog | undefined;
}

export async function finishOutput(
  invocation: Invocation,
  { fromBeginning, rollbackLog }: Moved,
): Promise<void> {
  const { stop, tally, watermark, limit, tokens } = invocation;
  await flushAll(invocation);
  // Pages whose commit never came are read again by the next run.
  tally.withhold('undurable', watermark?.held ?? 0);
  const isCancelled = stop.aborted;
  if (!isCancelled) tally.assertClosed();
  await finish(invocation, isCancelled ? 'cancelled' : 'success');
  if (isCancelled) return;
  rollbackLog?.finished();
  if (limit === undefined && invocation.seen !== undefined) await invocation.fence?.assertOwned();
  if (limit === undefined) await cleanUp(invocation, tokens, fromBeginning);
}

/**
 * After a failure what was written stays readable and every part learns how it ended. A second
 * failure does not hide the first.
 */
export async function finishFailed(invocation: Invocation, failure: string): Promise<void> {
  for (const step of [() => flushAll(invocation), () => finish(invocation, 'failed')]) {
    try {
      await step();
    } catch (error) {
      const message = messageOf(error);
      // A sink that writes behind reports the failure that stopped it once more.
      if (message !== failure)
        invocation.env.log.warn('another failure while the failed row was closed', {
          row: invocation.row.id,
          error: message,
        });
    }
  }
}

async function finish(invocation: Invocation, reason: FinishReason): Promise<void> {
  const { sink, row, deadLetters, hitFailpoint, capabilities, tally } = invocation;
  hitFailpoint?.('before_finish');
  await invocation.fence?.assertOwned();
  try {
    await sink.finish(reason);
    const isKept = capabilities.writeMode !== 'overwrite' && sink.discarded?.() !== true;
    if (reason !== 'success' && !isKept) tally.discard();
    hitFailpoint?.('after_finish');
  } catch (error) {
    throw wrapConnectorError('Sink', row.sink.type, error);
  } finally {
    await deadLetters?.finish(reason);
  }
}
