import { assert, RefusedError } from '../../lib/errors.ts';
import { RUN_PRIORITIES, type RunPriority } from '../../wire/run-priority.ts';

export interface QueueOptions {
  /** Executing at the same time. */
  readonly slots: number;
  /** Waiting beyond those that can start at once. */
  readonly capacity: number;
  readonly onChange: (queued: number, inFlight: number) => void;
}

/** Something that waits. */
export interface Queued {
  readonly priority: RunPriority;
  /** It is in the queue of several servers, and takes no place in this one. */
  readonly isClaimed: boolean;
}

/**
 * A place in the queue, held from before the item exists; given up by whichever is called first.
 */
export interface Reservation<T> {
  enter(item: T): void;
  release(): void;
}

/** Those of a higher priority first, then first come, first served; for a bounded number of slots. */
export class RunQueue<T extends Queued> {
  readonly #options: QueueOptions;
  readonly #begin: (item: T) => Promise<void>;
  /** In the order of their priorities. */
  readonly #waiting = new Map(RUN_PRIORITIES.map((priority) => [priority, new Set<T>()]));
  /** Of those that wait. */
  #claimed = 0;
  #reserved = 0;
  #inFlight = 0;
  #idle: (() => void)[] = [];

  /** `begin` executes an item; its slot is free again when the promise settles. */
  constructor(options: QueueOptions, begin: (item: T) => Promise<void>) {
    this.#options = options;
    this.#begin = begin;
  }

  get full(): boolean {
    return this.room === 0;
  }

  /** Items that may still be taken in. */
  get room(): number {
    const { capacity, slots } = this.#options;
    const taken = this.#inFlight + this.waiting - this.#claimed + this.#reserved;
    return Math.max(0, capacity + slots - taken);
  }

  /** Whether it waits for a slot. */
  holds(item: T): boolean {
    return this.#setOf(item).has(item);
  }

  /** Those that get the next slots. */
  *inTurn(): Generator<T> {
    for (const some of this.#waiting.values()) yield* some;
  }

  /** Slots that nothing executes in or waits for. */
  get free(): number {
    return Math.max(0, this.#options.slots - this.#inFlight - this.waiting);
  }

  get waiting(): number {
    let count = 0;
    for (const some of this.#waiting.values()) count += some.size;
    return count;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Throws `queue_full`. */
  reserve(): Reservation<T> {
    if (this.full)
      throw new RefusedError(
        'queue_full',
        `the run queue is full (${this.#options.capacity} waiting)`,
        { hint: 'try again later' },
      );
    return this.reserveAnyway();
  }

  /** For what must not be refused. */
  reserveAnyway(): Reservation<T> {
    this.#reserved += 1;
    let held = true;
    const giveUp = (): void => {
      if (held) this.#reserved -= 1;
      held = false;
    };
    return {
      enter: (item) => {
        giveUp();
        this.#setOf(item).add(item);
        if (item.isClaimed) this.#claimed += 1;
        this.#pump();
      },
      release: () => {
        giveUp();
        this.#pump();
      },
    };
  }

  /** Takes all waiting items out. */
  takeWaiting(): T[] {
    const waiting = [...this.inTurn()];
    for (const some of this.#waiting.values()) some.clear();
    this.#claimed = 0;
    this.#pump();
    return waiting;
  }

  /** Takes a waiting item out. False when it does not wait. */
  remove(item: T): boolean {
    if (!this.#takeOut(item)) return false;
    this.#pump();
    return true;
  }

  /** Resolves when nothing waits, executes or is about to. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#pump();
    });
  }

  #setOf({ priority }: T): Set<T> {
    const some = this.#waiting.get(priority);
    assert(some !== undefined, 'every priority has its runs');
    return some;
  }

  #takeOut(item: T): boolean {
    const wasThere = this.#setOf(item).delete(item);
    if (wasThere && item.isClaimed) this.#claimed -= 1;
    return wasThere;
  }

  #next(): T | undefined {
    const { value } = this.inTurn().next() as IteratorResult<T, undefined>;
    return value;
  }

  #pump(): void {
    while (this.#inFlight < this.#options.slots) {
      const item = this.#next();
      if (item === undefined) break;
      this.#takeOut(item);
      this.#inFlight += 1;
      void this.#begin(item).finally(() => {
        this.#inFlight -= 1;
        this.#pump();
      });
    }
    this.#options.onChange(this.waiting, this.#inFlight);
    if (this.waiting + this.#reserved + this.#inFlight > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
