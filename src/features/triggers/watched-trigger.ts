/** A trigger that looks at another system again and again, and remembers how far it has come. */
import type { TriggerStore } from '../../history/triggers.ts';
import type { Look, WatchedEvents, Watcher } from '../../kit/trigger.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { isObject, parseJson, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { ActiveTrigger, type ActiveOptions } from './active-trigger.ts';
import type { LoadedTrigger } from './load-triggers.ts';
import { isUnfit } from './start-run.ts';

export interface WatchOptions extends ActiveOptions {
  readonly store: TriggerStore;
  /** Looks begin when this has settled: those of the trigger whose place it takes are over. */
  readonly after: Promise<unknown>;
}

/** How a look ended. */
type Outcome = 'done' | 'queue_full' | 'failed';

/** The wait after a failure doubles up to this, or up to the interval where that is longer. */
const LONGEST_BACKOFF_MS = 60_000;
/** The queue of runs may have room again long before the next look is due. */
const FULL_QUEUE_MS = 5000;
/** A crash makes the server notice so many events again, whose keys are known. */
const REMEMBERED_EVERY = 100;

export class WatchedTrigger {
  readonly active: ActiveTrigger;
  readonly #events: WatchedEvents<unknown>;
  readonly #options: WatchOptions;
  readonly #closing = new AbortController();
  readonly #begun: Date;
  readonly #first = Promise.withResolvers<void>();
  #watching: Promise<void> = Promise.resolve();
  #watcher: Watcher | undefined;

  constructor(trigger: LoadedTrigger, events: WatchedEvents<unknown>, options: WatchOptions) {
    this.active = new ActiveTrigger(trigger, options);
    this.#events = events;
    this.#options = options;
    this.#begun = options.env.clock.now();
  }

  /** Begins to look. Resolves when the first look is over, whatever it came to. */
  start(): Promise<void> {
    this.#watching = this.#watch(this.#closing.signal);
    return this.#first.promise;
  }

  /** Resolves when no look goes on. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    await this.#watcher?.close().catch(() => {});
  }

  async #watch(signal: AbortSignal): Promise<void> {
    await this.#options.after;
    while (!signal.aborted) {
      const outcome = await this.#look(signal);
      this.#first.resolve();
      if (!signal.aborted) await this.#options.env.clock.sleep(this.#waitMs(outcome), signal);
    }
    this.#first.resolve();
  }

  #waitMs(outcome: Outcome): number {
    const intervalMs = this.#events.intervalSecs(this.active.trigger.config) * 1000;
    if (outcome === 'queue_full') return Math.min(intervalMs, FULL_QUEUE_MS);
    if (outcome === 'done') return intervalMs;
    const doubled = intervalMs * 2 ** Math.min(this.active.failures - 1, 30);
    return Math.min(doubled, Math.max(LONGEST_BACKOFF_MS, intervalMs));
  }

  async #look(signal: AbortSignal): Promise<Outcome> {
    const memory = new Memory(this.active.trigger.name, this.#options.store);
    let look: Look;
    try {
      await memory.read();
      look = await this.#ask(memory, signal);
    } catch (error) {
      if (signal.aborted) return 'failed';
      this.active.fails(error);
      await this.#noteAway(memory);
      return 'failed';
    }
    return this.#fireAll(look, { memory, signal });
  }

  async #ask(memory: Memory, signal: AbortSignal): Promise<Look> {
    const { trigger } = this.active;
    const { env } = this.#options;
    this.#watcher ??= await this.#events.open(trigger.config, { ...env, name: trigger.name });
    const { value, awaySince } = memory;
    return this.#watcher.look({ memory: value, awaySince, signal });
  }

  /** What comes from now on is new, even if it is seen at the first look that succeeds. */
  async #noteAway(memory: Memory): Promise<void> {
    if (memory.isKnown) return;
    await memory.noteAway(this.#begun).catch((error: unknown) => {
      this.#options.env.log.warn('what a trigger remembers could not be stored', {
        trigger: this.active.trigger.name,
        error: messageOf(error),
      });
    });
  }

  async #fireAll(
    look: Look,
    { memory, signal }: { readonly memory: Memory; readonly signal: AbortSignal },
  ): Promise<Outcome> {
    let outcome: Outcome = 'done';
    let taken = 0;
    try {
      for (const event of look.events) {
        if (signal.aborted) break;
        const firedAt = this.#options.env.clock.now();
        outcome = await this.active.fire({ event, firedAt, signal }).then(
          () => 'done',
          (error: unknown) => this.#outcomeOf(error),
        );
        if (outcome !== 'done') break;
        taken += 1;
        // Another server that came further goes on from there.
        if (taken % REMEMBERED_EVERY === 0 && !(await memory.write(look.memoryAfter(taken))))
          return 'done';
      }
      await memory.write(look.memoryAfter(taken));
    } catch (error) {
      this.active.fails(error);
      return 'failed';
    }
    if (outcome === 'done') this.active.works();
    return outcome;
  }

  /** One that can never have a run keeps nothing behind it waiting. */
  #outcomeOf(error: unknown): Outcome {
    if (isUnfit(error, this.active.trigger)) return 'done';
    return isFull(error) ? 'queue_full' : 'failed';
  }
}

function isFull(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'queue_full';
}

/** What is stored of a trigger: what its kind remembers, or since when no look has succeeded. */
class Memory {
  readonly #name: string;
  readonly #store: TriggerStore;
  #revision = 0;
  #content = '';

  constructor(name: string, store: TriggerStore) {
    this.#name = name;
    this.#store = store;
  }

  async read(): Promise<void> {
    const { revision = 0, content = '' } = (await this.#store.getTriggerMemory(this.#name)) ?? {};
    this.#revision = revision;
    this.#content = content;
  }

  get #stored(): JsonValue | undefined {
    return this.#content === '' ? undefined : parseJson(this.#content);
  }

  /** Whether anything is stored. */
  get isKnown(): boolean {
    return this.#content !== '';
  }

  get value(): JsonValue | undefined {
    const stored = this.#stored;
    return isObject(stored ?? null) && Object.hasOwn(stored as object, 'memory')
      ? (stored as { readonly memory: JsonValue }).memory
      : undefined;
  }

  get awaySince(): Date | undefined {
    const stored = this.#stored;
    const since = isObject(stored ?? null)
      ? (stored as { readonly away_since?: JsonValue }).away_since
      : undefined;
    return typeof since === 'string' ? new Date(since) : undefined;
  }

  /** False when another server has changed it since `read`. */
  write(value: JsonValue): Promise<boolean> {
    return this.#put(stringifyJson({ memory: value }));
  }

  noteAway(since: Date): Promise<boolean> {
    return this.#put(stringifyJson({ away_since: since.toISOString() }));
  }

  async #put(content: string): Promise<boolean> {
    if (content === this.#content) return true;
    const before = { revision: this.#revision, content };
    if (!(await this.#store.putTriggerMemory(this.#name, before))) return false;
    this.#revision += 1;
    this.#content = content;
    return true;
  }
}
