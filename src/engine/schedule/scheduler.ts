/**
 * The one scheduler of runs: matrix rows, fan-out rows and graph nodes are its units. It decides
 * when a unit starts, how many tasks run at a time, and what a failure or a stop means for the
 * others.
 */
import { StopReason } from '../../lib/errors.ts';
import { Gate } from '../../lib/gate.ts';
import type { Log } from '../../lib/log.ts';

/** What the scheduler needs to know of an outcome. */
export interface Ended {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'skipped';
}

/** One execution of a unit. */
export interface Task<O extends Ended> {
  /** Never rejects. */
  run(): Promise<O>;
  /** The outcome when the run was stopped before the task began. */
  cancelled(): O;
}

/** Does work that counts against `maxConcurrent`. */
export type InSlot = <T>(work: () => Promise<T>) => Promise<T>;

export interface WorkUnit<O extends Ended> {
  readonly id: string;
  /** Units that must end `completed` before this one expands. */
  readonly dependsOn: readonly string[];
  /** Heavier units start first where weights count. */
  readonly weight?: number | undefined;
  /**
   * The tasks of the unit; the iterable is advanced only when a slot is free. Rejects when it
   * cannot be known what they are.
   */
  expand(inSlot: InSlot): Promise<Iterable<Task<O>>>;
  /** The only outcome of a unit that got no tasks. */
  notStarted(why: NotStarted): O;
}

export type NotStarted =
  | { readonly status: 'cancelled' }
  | { readonly status: 'failed'; readonly error: unknown }
  /** `dependency` did not end `completed`. */
  | { readonly status: 'skipped'; readonly dependency: string };

export interface SchedulerOptions {
  /** Tasks at a time. */
  readonly maxConcurrent: number;
  /** Whether the failure of one unit stops all others. */
  readonly onError: 'continue' | 'stop';
  /** `lpt`: heaviest first, then in the order given; units without a weight come last. */
  readonly order: 'declared' | 'lpt';
  /** Cooperative stop from outside. */
  readonly signal: AbortSignal;
  /** Hard stop from outside. */
  readonly killSignal: AbortSignal | undefined;
  /** After a failure stopped the others, they have this long before everything is ended. */
  readonly stopGraceMs: number;
  /** How messages call a unit. */
  readonly noun: 'row' | 'node';
  readonly log: Log;
}

interface UnitResult<O> {
  readonly succeeded: boolean;
  readonly outcomes: readonly O[];
}

export class Scheduler<O extends Ended> {
  /** Fires for a stop from outside and for the failure of another unit. */
  readonly stop: AbortSignal;
  /** Fires when everything has to end now. */
  readonly kill: AbortSignal;
  readonly #options: SchedulerOptions;
  readonly #gate: Gate;
  readonly #siblings = new AbortController();
  readonly #hardStop = new AbortController();
  readonly #results = new Map<string, Promise<UnitResult<O>>>();
  #hardStopTimer: NodeJS.Timeout | undefined;

  constructor(options: SchedulerOptions) {
    const { signal, killSignal, maxConcurrent } = options;
    this.#options = options;
    this.#gate = new Gate(maxConcurrent);
    this.stop = AbortSignal.any([signal, this.#siblings.signal]);
    this.kill =
      killSignal === undefined
        ? this.#hardStop.signal
        : AbortSignal.any([killSignal, this.#hardStop.signal]);
  }

  /** The outcomes by unit, in the order given; those of one unit in the order of its tasks. */
  async run(units: readonly WorkUnit<O>[]): Promise<readonly O[]> {
    try {
      for (const unit of startOrder(units, this.#options.order))
        this.#results.set(unit.id, this.#runUnit(unit));
      const results = await Promise.all(units.map(({ id }) => this.#resultOf(id)));
      return results.flatMap(({ outcomes }) => outcomes);
    } finally {
      clearTimeout(this.#hardStopTimer);
    }
  }

  /**
   * Applies `onError`. A unit whose failure must stop the others before its task has ended calls
   * this itself.
   */
  failed(id: string): void {
    const { onError, noun, log, stopGraceMs } = this.#options;
    if (onError !== 'stop' || this.#siblings.signal.aborted) return;
    log.warn(`stopping the other ${noun}s (execution.on_error is stop)`, { failed: id });
    this.#siblings.abort(
      new StopReason(
        'sibling_failed',
        `${noun} \`${id}\` failed and \`execution.on_error\` is \`stop\``,
      ),
    );
    this.#hardStopTimer = setTimeout(
      () => this.#hardStop.abort(new StopReason('kill', `the ${noun}s did not stop in time`)),
      stopGraceMs,
    ).unref();
  }

  #resultOf(id: string): Promise<UnitResult<O>> {
    const result = this.#results.get(id);
    if (result === undefined) throw new Error(`cannot happen: ${id} was not scheduled`);
    return result;
  }

  async #runUnit(unit: WorkUnit<O>): Promise<UnitResult<O>> {
    // All units are in the map before the first one looks up its dependencies.
    await Promise.resolve();
    const dependency = await this.#missing(unit);
    if (dependency !== undefined) return notStarted(unit, { status: 'skipped', dependency });
    try {
      return await this.#runTasks(unit, await unit.expand((work) => this.#inSlot(work)));
    } catch (error) {
      if (this.stop.aborted) return notStarted(unit, { status: 'cancelled' });
      const result = notStarted(unit, { status: 'failed', error });
      this.failed(unit.id);
      return result;
    }
  }

  /** The first dependency that did not succeed, once all have ended. */
  async #missing({ dependsOn }: WorkUnit<O>): Promise<string | undefined> {
    const results = await Promise.all(dependsOn.map((id) => this.#resultOf(id)));
    return dependsOn.find((_, index) => results[index]?.succeeded !== true);
  }

  /**
   * A unit waits for one slot at a time, so that thousands of tasks cost nothing before they start
   * and no unit keeps all others waiting.
   */
  async #runTasks(unit: WorkUnit<O>, tasks: Iterable<Task<O>>): Promise<UnitResult<O>> {
    const running: Promise<O>[] = [];
    try {
      for (const task of tasks) {
        const release = await this.#gate.enter();
        running.push(this.#runTask(unit, task).finally(release));
      }
    } finally {
      await Promise.all(running);
    }
    const outcomes = await Promise.all(running);
    return { succeeded: outcomes.every(({ status }) => status === 'completed'), outcomes };
  }

  async #runTask({ id }: WorkUnit<O>, task: Task<O>): Promise<O> {
    if (this.stop.aborted) return task.cancelled();
    const outcome = await task.run();
    if (outcome.status === 'failed') this.failed(id);
    return outcome;
  }

  async #inSlot<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.#gate.enter();
    try {
      return await work();
    } finally {
      release();
    }
  }
}

function notStarted<O extends Ended>(unit: WorkUnit<O>, why: NotStarted): UnitResult<O> {
  return { succeeded: false, outcomes: [unit.notStarted(why)] };
}

function startOrder<O extends Ended>(
  units: readonly WorkUnit<O>[],
  order: SchedulerOptions['order'],
): readonly WorkUnit<O>[] {
  return order === 'declared'
    ? units
    : units.toSorted((one, other) => (other.weight ?? -1) - (one.weight ?? -1));
}
