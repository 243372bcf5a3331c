import { StopReason } from '../../lib/errors.ts';
import type { InvocationRequest } from './request.ts';

/**
 * Time that an invocation has after a stop to flush and to end; its sink may wait for a server that
 * never answers. Whoever asked for `cancel` waits for it; the others are expected.
 */
const GRACE_MS: Readonly<Partial<Record<StopReason['why'], number>>> = {
  cancel: 2000,
  timeout: 10_000,
  shutdown: 10_000,
};

export interface Overdue extends Disposable {
  /** Fires when an invocation that was told to stop has not ended in time. */
  readonly signal: AbortSignal;
}

/**
 * What is not durable by then is given up, as when the process is killed: the next run writes it
 * again from the last bookmark.
 */
export function endOverdue({
  env,
  row,
  stop,
}: Pick<InvocationRequest, 'env' | 'row' | 'stop'>): Overdue {
  const overdue = new AbortController();
  let ended: AbortController | undefined;
  const wait = async (): Promise<void> => {
    const { reason } = stop as { readonly reason: unknown };
    const graceMs = reason instanceof StopReason ? GRACE_MS[reason.why] : undefined;
    if (graceMs === undefined) return;
    const { signal } = (ended = new AbortController());
    await env.clock.sleep(graceMs, signal);
    if (signal.aborted) return;
    env.log.warn('the row did not stop in time: what is not durable yet is given up', {
      row: row.id,
      grace_ms: graceMs,
    });
    overdue.abort(new StopReason('kill', `row \`${row.id}\` did not stop in time`));
  };
  const onStop = (): void => void wait();
  if (stop.aborted) onStop();
  else stop.addEventListener('abort', onStop, { once: true });
  return {
    signal: overdue.signal,
    [Symbol.dispose]() {
      stop.removeEventListener('abort', onStop);
      ended?.abort();
    },
  };
}
