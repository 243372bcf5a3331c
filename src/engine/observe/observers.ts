import { messageOf } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Log } from '../../lib/log.ts';
import { abortableWithin } from '../grace-period.ts';
import { NOTIFICATION_GRACE_MS } from './pending-notifications.ts';
import type { ObservedRow, RunObserver } from './observer.ts';
import { ShapeSampler } from './samples.ts';

type Notification = (observer: RunObserver) => void | Promise<void>;

/** Notifies the observers of a run, each at its own pace. Never throws. */
export class Observers {
  /** How many records of each invocation are sampled for their shape. */
  readonly sampleRecords: number;
  /** By source node, in a graph. */
  readonly sampledSources = new Map<string, ShapeSampler>();
  readonly #queues: readonly NotificationQueue[];
  readonly #log: Log;

  constructor(observers: readonly RunObserver[], log: Log) {
    this.#log = log;
    this.sampleRecords = Math.max(0, ...observers.map(({ sampleRecords }) => sampleRecords ?? 0));
    this.#queues = observers.map((observer) => new NotificationQueue(observer, log));
  }

  notify(notification: Notification): void {
    for (const queue of this.#queues) queue.push(notification);
  }

  /** For a source node of a graph; `undefined` when no observer asks for samples. */
  samplerOf(node: string): ShapeSampler | undefined {
    if (this.sampleRecords === 0) return undefined;
    const sampler = new ShapeSampler(this.sampleRecords);
    this.sampledSources.set(node, sampler);
    return sampler;
  }

  /** Notifies observers with a heartbeat that the row runs, until the signal fires. Never rejects. */
  async heartbeat(
    row: ObservedRow,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ): Promise<void> {
    const beats = this.#queues.map(async (queue) => {
      const { heartbeatMs } = queue.observer;
      if (heartbeatMs === undefined) return;
      for (
        await clock.sleep(heartbeatMs, signal);
        !signal.aborted;
        await clock.sleep(heartbeatMs, signal)
      ) {
        if (!queue.busy) queue.push((observer) => observer.rowRuns?.(row));
      }
    });
    await Promise.all(beats);
  }

  /** Resolves when everything was delivered, or a grace period after the signal. */
  async settled({
    clock,
    signal,
  }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
  }): Promise<void> {
    const delivered = Promise.all(this.#queues.map((queue) => queue.last));
    if (
      (await abortableWithin(delivered, signal, { clock, graceMs: NOTIFICATION_GRACE_MS })) !==
      undefined
    )
      return;
    const late = this.#queues.filter(({ busy }) => busy).map(({ observer }) => observer.name);
    this.#log.warn('the run was stopped before all observers were notified of its end', {
      observers: late.join(', '),
    });
  }
}

/** The notifications of one observer, delivered in order. */
class NotificationQueue {
  last: Promise<void> = Promise.resolve();
  readonly observer: RunObserver;
  readonly #log: Log;
  #waiting = 0;

  constructor(observer: RunObserver, log: Log) {
    this.observer = observer;
    this.#log = log;
  }

  get busy(): boolean {
    return this.#waiting > 0;
  }

  push(notification: Notification): void {
    this.#waiting += 1;
    this.last = this.last
      .then(() => this.#deliver(notification))
      .finally(() => (this.#waiting -= 1));
  }

  async #deliver(notification: Notification): Promise<void> {
    try {
      await notification(this.observer);
    } catch (error) {
      this.#log.warn('an observer could not be notified', {
        observer: this.observer.name,
        error: messageOf(error),
      });
    }
  }
}
