/** What a kind of trigger is: something outside of the server that starts runs of a document. */
import type { ZodObject } from 'zod';
import type { Ids } from '../lib/ids.ts';
import type { JsonValue } from '../lib/text/json.ts';
import type { Clock } from '../lib/time/clock.ts';

export interface TriggerDefinition<Config = unknown> {
  readonly role: 'trigger';
  /** What files, labels, metrics and messages call it. */
  readonly type: string;
  readonly description: string;
  /**
   * The fields of its entry besides those that every trigger has; strict below, each with a
   * description. A function, so that only the kinds that a file names are built.
   */
  fields(): ZodObject;
  /** Fields that must parse. */
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  /** What a run that it starts can fill in, besides `name`, `type` and `fired_at`. */
  tokens(config: Config): readonly TriggerToken[];
  /** When it starts a run, as a sentence about the trigger of this name. */
  starts(config: Config, name: string): string;
  /** Values of a config that must not be seen in a log or an answer. */
  secrets(config: Config): readonly string[];
  /** How it learns of its events. */
  readonly events: RequestedEvents<Config> | WatchedEvents<Config>;
}

/** `${trigger.<name>}`. */
export interface TriggerToken {
  readonly name: string;
  /** A value that it may have: documents are checked with it. */
  readonly example: string;
  /** Whether it is a group: `${trigger.<name>.<anything>}`. */
  readonly isGroup?: true;
  /** Whether the name of the run may hold it: `{<name>}`. */
  readonly inRunName?: true;
}

/** Something that happened, for which a run starts. */
export interface TriggerEvent {
  /**
   * The idempotency key of the run. Servers that notice the same event give it the same key, and so
   * does a server that notices it again after a restart.
   */
  readonly key: string;
  /** Labels of the run, without their prefix `svc.trigger.`, besides `name` and `type`. */
  readonly labels: Readonly<Record<string, string>>;
  /** What a token stands for; undefined when this event has no value for it. */
  value(this: void, token: string): string | undefined;
}

export interface TriggerContext {
  /** Name of the trigger; keys begin with it. */
  readonly name: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
}

/** A request to `/v1/triggers/{name}` is an event. */
export interface RequestedEvents<Config> {
  readonly by: 'request';
  open(config: Config, context: TriggerContext): RequestReceiver;
}

/** A request as it came. */
export interface TriggerRequest {
  readonly method: string;
  /** By name in lower case; values of a repeated name are joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** What stands behind the `?`. */
  readonly search: string;
  readonly body: Uint8Array;
}

export interface RequestReceiver {
  /** For so long after an event that was taken, others start no run; 0 for never. */
  readonly debounceMs: number;
  /** A request without a token is let in, because `receive` checks where it comes from. */
  readonly needsNoToken: boolean;
  /** Throws `RefusedError`: `bad_config` for what it does not take, `unauthorized` for a forgery. */
  receive(request: TriggerRequest): TriggerEvent;
}

/** A system outside is looked at again and again. */
export interface WatchedEvents<Config> {
  readonly by: 'watching';
  intervalSecs(config: Config): number;
  /** Loads its client and contacts nothing yet. */
  open(config: Config, context: TriggerContext): Promise<Watcher>;
}

export interface Watcher {
  /**
   * Looks once. Rejects with `ConnectorError` when the system cannot be asked; its message holds no
   * secret. Ends within a second after the signal has fired.
   */
  look(request: LookRequest): Promise<Look>;
  close(): Promise<void>;
}

export interface LookRequest {
  /** What the look before left, possibly by another server; undefined at the very first. */
  readonly memory: JsonValue | undefined;
  /**
   * Since when the system could not be asked, where no look has succeeded yet: what came after it
   * is new.
   */
  readonly awaySince: Date | undefined;
  readonly signal: AbortSignal;
}

export interface Look {
  /** In the order in which their runs start. */
  readonly events: readonly TriggerEvent[];
  /**
   * What is to be remembered when the first so many events have started runs. The others are found
   * again by a look with it, with the same keys.
   */
  memoryAfter(taken: number): JsonValue;
}

/** A list of kinds does not know their fields: each is given only what its own schema parsed. */
export function defineTrigger<Config>(
  definition: Omit<TriggerDefinition<Config>, 'role'>,
): TriggerDefinition {
  const trigger: TriggerDefinition<Config> = { role: 'trigger', ...definition };
  return Object.freeze(trigger as TriggerDefinition<never>) as TriggerDefinition;
}
