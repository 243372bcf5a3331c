/** What a kind of trigger is: something outside of the server that starts runs of a document. */
import type { ZodObject } from 'zod';

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

/** A list of kinds does not know their fields: each is given only what its own schema parsed. */
export function defineTrigger<Config>(
  definition: Omit<TriggerDefinition<Config>, 'role'>,
): TriggerDefinition {
  const trigger: TriggerDefinition<Config> = { role: 'trigger', ...definition };
  return Object.freeze(trigger as TriggerDefinition<never>) as TriggerDefinition;
}
