/** What the page loop does for a source that waits for records instead of ending. */
import type { Clock } from '../../lib/time/clock.ts';
import * as metrics from '../metrics.ts';
import type { Invocation } from './invocation.ts';

export interface IdleFlush {
  /** How long nothing may come before `flush` is called, once for each wait. */
  readonly idleFlushMs: number;
  readonly clock: Clock;
  flush(this: void): Promise<void>;
}

/** Yields as `items` does, and flushes while nothing comes. */
export async function* flushingWhenIdle<T>(
  items: AsyncGenerator<T, void, undefined>,
  { idleFlushMs, clock, flush }: IdleFlush,
): AsyncGenerator<T, void, undefined> {
  let pending: Promise<IteratorResult<T, void>> | undefined;
  try {
    for (;;) {
      pending = items.next();
      // A failure is seen when the item is awaited; until then it must not count as unhandled.
      pending.catch(() => {});
      if (!(await settlesWithin(pending, idleFlushMs, clock))) await flush();
      const next = await pending;
      pending = undefined;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // An item that is still awaited would put the end off; the loop tells the source to leave.
    if (pending === undefined) await items.return();
  }
}

async function settlesWithin(
  work: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'sleep'>,
): Promise<boolean> {
  const settled = new AbortController();
  const done = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([done, clock.sleep(ms, settled.signal).then(() => false)]);
  } finally {
    settled.abort();
  }
}

export interface Heartbeats {
  /** Ends them; throws what made one fail. */
  stop(): Promise<void>;
}

const NO_HEARTBEATS: Heartbeats = { stop: () => Promise.resolve() };

/** Calls `heartbeat` of the source until it is stopped. One that fails ends the reading. */
export function startHeartbeats({ unbounded, source, env, leave }: Invocation): Heartbeats {
  const everyMs = unbounded?.heartbeatMs;
  if (everyMs === undefined || source.heartbeat === undefined) return NO_HEARTBEATS;
  const ended = new AbortController();
  const beat = async (): Promise<void> => {
    for (;;) {
      await env.clock.sleep(everyMs, ended.signal);
      if (ended.signal.aborted) return;
      await source.heartbeat?.();
    }
  };
  const beating = beat();
  beating.catch(leave);
  return {
    stop: () => {
      ended.abort();
      return beating;
    },
  };
}

/** Tells how far the source is behind, where it knows. */
export function observeLag({ source, env, labels, row }: Invocation): void {
  const { records, seconds } = source.lag?.() ?? {};
  const place = { ...labels, connector: row.source.type };
  if (records !== undefined) env.metrics.set(metrics.sourceLagRecords, place, records);
  if (seconds !== undefined) env.metrics.set(metrics.sourceLagSeconds, place, seconds);
}
