import { messageOf } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Log } from '../../lib/log.ts';
import { abortableWithin } from '../grace-period.ts';
import { NOTIFICATION_GRACE_MS } from './pending-notifications.ts';
import type { ObservedRow, RunObserver } from './observer.ts';
import { ShapeSampler } from './samples.ts';

type Tell = (observer: RunObserver) => void | Promise<void>;

/** Tells all observers of a run, each at its own pace. Never throws. */
export class Observers {
  /** Records of each invocation that somebody wants to know the shape of. */
  readonly sampleRecords: number;
  /** By source node, in a graph. */
  readonly sampledSources = new Map<string, ShapeSampler>();
  readonly #lines: readonly Line[];
  readonly #log: Log;

  constructor(observers: readonly RunObserver[], log: Log) {
    this.#log = log;
    this.sampleRecords = Math.max(0, ...observers.map(({ sampleRecords }) => sampleRecords ?? 0));
    this.#lines = observers.map((observer) => new Line(observer, log));
  }

  tell(tell: Tell): void {
    for (const line of this.#lines) line.push(tell);
  }

  /** For a source node of a graph; `undefined` when nobody wants to know what it reads. */
  samplerOf(node: string): ShapeSampler | undefined {
    if (this.sampleRecords === 0) return undefined;
    const sampler = new ShapeSampler(this.sampleRecords);
    this.sampledSources.set(node, sampler);
    return sampler;
  }

  /**
   * Tells that a row is running, now and then until the signal fires, to whoever wants to hear it.
   * Never rejects.
   */
  async keepTelling(
    row: ObservedRow,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ): Promise<void> {
    const beats = this.#lines.map(async (line) => {
      const { heartbeatMs } = line.observer;
      if (heartbeatMs === undefined) return;
      for (
        await clock.sleep(heartbeatMs, signal);
        !signal.aborted;
        await clock.sleep(heartbeatMs, signal)
      ) {
        if (!line.busy) line.push((observer) => observer.rowRuns?.(row));
      }
    });
    await Promise.all(beats);
  }

  /** Resolves when everything has been told; some time after the signal in any case. */
  async settled({
    clock,
    signal,
  }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
  }): Promise<void> {
    const told = Promise.all(this.#lines.map((line) => line.last));
    if (
      (await abortableWithin(told, signal, { clock, graceMs: NOTIFICATION_GRACE_MS })) !== undefined
    )
      return;
    const to = this.#lines.filter(({ busy }) => busy).map(({ observer }) => observer.name);
    this.#log.warn('the run was stopped before it was told to all how it ended', {
      to: to.join(', '),
    });
  }
}

/** What one observer has still to be told, in order. */
class Line {
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

  push(tell: Tell): void {
    this.#waiting += 1;
    this.last = this.last.then(() => this.#say(tell)).finally(() => (this.#waiting -= 1));
  }

  async #say(tell: Tell): Promise<void> {
    try {
      await tell(this.observer);
    } catch (error) {
      this.#log.warn('what the run does could not be told', {
        to: this.observer.name,
        error: messageOf(error),
      });
    }
  }
}
