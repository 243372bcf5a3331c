/** The triggers of a server: all that are switched on, and what happens when one fires. */
import type { TriggerStore } from '../../history/triggers.ts';
import { RefusedError } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Caller } from '../../runs/service/runs.ts';
import type { SubmissionReceipt } from '../../wire/run.ts';
import type { TriggerHealth, TriggerListing } from '../../wire/triggers.ts';
import type { ActiveOptions, ActiveTrigger } from './active-trigger.ts';
import type { LoadedTrigger, LoadedTriggers } from './load-triggers.ts';
import * as metrics from './metrics.ts';
import { RequestedTrigger, type Arrival } from './requested-trigger.ts';
import { WatchedTrigger } from './watched-trigger.ts';

/** Who asked for a trigger to fire; undefined for one that proved it by a signature. */
export interface FireCall extends Arrival {
  readonly caller: Caller | undefined;
}

export interface Triggers {
  /**
   * The run of a request to a trigger; undefined when the request has none of its own. Rejects with
   * `RefusedError`: 404 for a name that no such trigger has, and as `Runs.submit` does.
   */
  fire(name: string, call: FireCall): Promise<SubmissionReceipt | undefined>;
  /** Whether a request without a token is to be given to `fire`, which checks its signature. */
  needsNoToken(name: string): boolean;
  /** Of those that are switched on, by name; undefined where the server has no file of triggers. */
  health(): readonly TriggerHealth[] | undefined;
  list(): readonly TriggerListing[];
  /** Takes the place of the triggers before; what did not change goes on undisturbed. */
  replace(loaded: LoadedTriggers): void;
  /**
   * Begins to look at other systems. Resolves when each was looked at once, or some did not answer
   * in time: what comes later is new.
   */
  start(): Promise<void>;
  /** Nothing fires after. */
  close(): Promise<void>;
}

export interface TriggersOptions extends ActiveOptions {
  readonly audit: Pick<Audit, 'record'>;
  readonly store: TriggerStore;
  /** None: the server was started without a file of triggers. */
  readonly loaded: LoadedTriggers | undefined;
  /** Told the names of triggers that are there no more: nothing of them is measured from now on. */
  readonly onGone?: (names: readonly string[]) => void;
}

type Running = RequestedTrigger | WatchedTrigger;

/** The action of a request that fires a trigger. */
const FIRE = 'trigger.fire';
/** How long a start waits for systems that are away. */
const FIRST_LOOK_MS = 3000;

export function createTriggers(options: TriggersOptions): Triggers {
  return new TriggerSet(options);
}

class TriggerSet implements Triggers {
  readonly #options: TriggersOptions;
  #loaded: readonly LoadedTrigger[] | undefined;
  #running: ReadonlyMap<string, Running> = new Map();
  #isStarted = false;
  /** The ends of those that were replaced. */
  #closing: Promise<unknown> = Promise.resolve();

  constructor(options: TriggersOptions) {
    this.#options = options;
    if (options.loaded !== undefined) this.replace(options.loaded);
  }

  async fire(name: string, call: FireCall): Promise<SubmissionReceipt | undefined> {
    const running = this.#requested(name);
    if (running === undefined)
      throw new RefusedError('not_found', `there is no webhook trigger \`${name}\``);
    const { caller, ...arrival } = call;
    if (caller === undefined) return running.fire(arrival);
    const receipt = await running.fire({ ...arrival, actions: [{ action: FIRE, caller }] });
    if (receipt === undefined) await this.#options.audit.record(actionOf(caller, FIRE));
    return receipt;
  }

  needsNoToken(name: string): boolean {
    return this.#requested(name)?.receiver.needsNoToken === true;
  }

  #requested(name: string): RequestedTrigger | undefined {
    const running = this.#running.get(name);
    return running instanceof RequestedTrigger ? running : undefined;
  }

  health(): readonly TriggerHealth[] | undefined {
    if (this.#loaded === undefined) return undefined;
    return [...this.#running.values()].map(({ active }) => active.health);
  }

  list(): readonly TriggerListing[] {
    return (this.#loaded ?? []).map((trigger) => {
      const { name, enabled, definition, config } = trigger;
      const active = this.#running.get(name)?.active;
      return {
        ...(active?.health ?? resting(trigger)),
        enabled,
        starts: definition.starts(config, name),
        last_run_id: active?.lastRunId ?? null,
      };
    });
  }

  replace({ triggers, warnings }: LoadedTriggers): void {
    const { env } = this.#options;
    for (const warning of warnings) env.log.at('headgate::triggers').warn(warning);
    const before = this.#running;
    const enabled = triggers.filter((trigger) => trigger.enabled);
    const kept = new Map(enabled.flatMap((trigger) => keptOf(trigger, before.get(trigger.name))));
    this.#end([...before].flatMap(([name, running]) => (kept.has(name) ? [] : [running])));
    this.#running = new Map(
      enabled.map((trigger) => [trigger.name, kept.get(trigger.name) ?? this.#open(trigger)]),
    );
    this.#loaded = triggers;
    const gone = [...before.keys()].filter((name) => !this.#running.has(name));
    // One that is ending may still measure its last look.
    if (gone.length > 0) void this.#closing.then(() => this.#options.onGone?.(gone));
    env.metrics.set(metrics.triggersActive, {}, this.#running.size);
  }

  async start(): Promise<void> {
    this.#isStarted = true;
    const late = new AbortController();
    const looks = [...this.#running.values()].flatMap((running) =>
      running instanceof WatchedTrigger ? [running.start()] : [],
    );
    await Promise.race([
      Promise.all(looks),
      this.#options.env.clock.sleep(FIRST_LOOK_MS, late.signal),
    ]);
    late.abort();
  }

  async close(): Promise<void> {
    this.#end([...this.#running.values()]);
    this.#running = new Map();
    await this.#closing;
  }

  #end(gone: readonly Running[]): void {
    const ends = gone.flatMap((one) => (one instanceof WatchedTrigger ? [one.close()] : []));
    this.#closing = Promise.all([this.#closing, ...ends]);
  }

  #open(trigger: LoadedTrigger): Running {
    const { env } = this.#options;
    const { events } = trigger.definition;
    if (events.by === 'request') {
      const receiver = events.open(trigger.config, { ...env, name: trigger.name });
      return new RequestedTrigger(trigger, receiver, this.#options);
    }
    const watched = new WatchedTrigger(trigger, events, {
      ...this.#options,
      after: this.#closing,
    });
    if (this.#isStarted) void watched.start();
    return watched;
  }
}

/** The one before goes on when it listens to the same events; its runs may be other ones. */
function keptOf(
  trigger: LoadedTrigger,
  before: Running | undefined,
): readonly (readonly [string, Running])[] {
  if (before === undefined || !isSameKind(trigger, before.active.trigger)) return [];
  before.active.trigger = trigger;
  return [[trigger.name, before]];
}

/** Whether it listens to the same events. */
function isSameKind(one: LoadedTrigger, other: ActiveTrigger['trigger']): boolean {
  return (
    one.definition === other.definition &&
    stringifyJson(one.config as JsonValue) === stringifyJson(other.config as JsonValue)
  );
}

function resting({ name, definition }: LoadedTrigger): TriggerHealth {
  return {
    name,
    type: definition.type,
    healthy: true,
    consecutive_failures: 0,
    last_fire: null,
    last_error: null,
  };
}
