/** What a notification channel is: how an event becomes one request to its receiver. */
import type { ZodType } from 'zod';
import type { EventKind, NotificationEvent } from './notification-event.ts';

/** One request of a channel. */
export interface ChannelMessage {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ChannelDefinition<Config = unknown> {
  readonly role: 'channel';
  /** What documents, metrics and messages call it. */
  readonly type: string;
  /** Other names that documents may use. */
  readonly aliases?: readonly string[];
  readonly description: string;
  /** Strict, with a description on every field and `secret: true` on those that people never see. */
  readonly config: ZodType<Config>;
  /** Configs that must parse; the tests render an event with each. */
  readonly examples: readonly unknown[];
  /** Where its messages go. One receiver gets the events of a pipeline in their order. */
  address(config: Config): string;
  /** Values of a config that must not be seen in a log or an error message. */
  secrets(config: Config): readonly string[];
  /** The request that reports an event. Secrets in the texts of the event are hidden already. */
  message(config: Config, event: NotificationEvent): ChannelMessage;
  /**
   * Of a channel where failures open an incident for the pipeline and row, which the next success
   * resolves. Such a channel gets no message about successes themselves.
   */
  readonly incidents?: ChannelIncidents<Config>;
}

export interface ChannelIncidents<Config> {
  /** Kinds of events that open an incident. */
  readonly opening: ReadonlySet<EventKind>;
  /** The request that resolves the incident of a row; `row` is empty for the whole pipeline. */
  resolve(
    config: Config,
    about: { readonly pipeline: string; readonly row: string },
  ): ChannelMessage;
}

/** A list of channels does not know their configs: each is given only what its own schema parsed. */
export function defineChannel<Config>(
  definition: Omit<ChannelDefinition<Config>, 'role'>,
): ChannelDefinition {
  const channel: ChannelDefinition<Config> = { role: 'channel', ...definition };
  return Object.freeze(channel as ChannelDefinition<never>) as ChannelDefinition;
}

/** By its type or an alias. */
export function findChannel(
  channels: readonly ChannelDefinition[],
  name: string,
): ChannelDefinition | undefined {
  return channels.find(({ type, aliases = [] }) => type === name || aliases.includes(name));
}
