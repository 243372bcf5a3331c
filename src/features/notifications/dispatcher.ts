/** Sends events to the channels of matching rules, in order, and remembers what was sent. */
import { hash } from 'node:crypto';
import type { PlannedRule } from '../../blocks/notifications/plan.ts';
import { wants, type Channel } from '../../blocks/notifications/schema.ts';
import {
  findChannel,
  type ChannelDefinition,
  type ChannelIncidents,
  type ChannelMessage,
} from '../../kit/channel.ts';
import type { NotificationEvent } from '../../kit/notification-event.ts';
import type { Env } from '../../lib/env.ts';
import { assert, messageOf } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { Redactor } from '../../lib/redact.ts';
import { deliver } from './deliver.ts';
import { Lanes } from './lanes.ts';
import { NotificationMemory } from './memory.ts';
import { DROPPED, DURATION, SENT } from './metrics.ts';
import {
  incidentId,
  incidentsFolder,
  openIncidents,
  type OpenIncidents,
} from './open-incidents.ts';
import type { RunNotifications } from './run-events.ts';

/**
 * Runs whose notifications are being sent. Those of further runs are dropped, so that dead
 * receivers cannot fill the memory.
 */
const MAX_UNDERWAY = 1000;

export interface Notice extends RunNotifications {
  readonly pipeline: string;
  readonly rules: readonly PlannedRule[];
}

type Sent = Pick<NotificationEvent, 'pipeline' | 'row'> & {
  readonly event: NotificationEvent['event'] | 'resolve';
};

/** A resolved incident of one rule, about one row. */
interface Recovery {
  readonly name: string;
  readonly channel: Channel;
  readonly incidents: ChannelIncidents<unknown>;
  readonly about: Pick<Sent, 'pipeline' | 'row'>;
}

export type DispatcherEnv = Pick<
  Env,
  'clock' | 'fetch' | 'log' | 'metrics' | 'redactor' | 'variables'
>;

export class Dispatcher {
  readonly #env: DispatcherEnv;
  readonly #channels: readonly ChannelDefinition[];
  readonly #memory: NotificationMemory;
  readonly #incidents: OpenIncidents;
  readonly #lanes = new Lanes();
  #underway = 0;

  constructor(env: DispatcherEnv, channels: readonly ChannelDefinition[]) {
    this.#env = env;
    this.#channels = channels;
    this.#memory = new NotificationMemory(env.clock);
    this.#incidents = openIncidents(incidentsFolder(env.variables));
  }

  /** Resolves when everything was delivered or has failed. Never rejects. */
  async dispatchAll({ pipeline, rules, events, recovered }: Notice): Promise<void> {
    const sends = events.flatMap((event) =>
      rules.filter((rule) => takes(rule, event)).map((rule) => ({ rule, event })),
    );
    if (this.#underway >= MAX_UNDERWAY) return this.#drop(pipeline, sends);
    const resolves = rules.flatMap(({ name, channel }): Recovery[] => {
      const { incidents } = this.#definitionOf(channel);
      if (incidents === undefined) return [];
      return recovered.map((row) => ({ name, channel, incidents, about: { pipeline, row } }));
    });
    this.#underway += 1;
    try {
      await Promise.all([
        ...resolves.map((resolve) =>
          this.#inOrder(pipeline, resolve.channel, () => this.#resolve(resolve)),
        ),
        ...sends.map(({ rule, event }) =>
          this.#inOrder(pipeline, rule.channel, () => this.#send(rule, event)),
        ),
      ]);
    } finally {
      this.#underway -= 1;
    }
  }

  /** Sends one event to one channel, ignoring deduplication. Returns why it did not arrive. */
  async dispatch(channel: Channel, event: NotificationEvent): Promise<string | undefined> {
    const masked = redacted(event, this.#env.redactor);
    return this.#deliver(
      channel,
      event,
      this.#definitionOf(channel).message(channel.config, masked),
    );
  }

  /** A receiver gets the events of one pipeline in the order in which they happened. */
  #inOrder(pipeline: string, channel: Channel, work: () => Promise<void>): Promise<void> {
    const address = this.#definitionOf(channel).address(channel.config);
    return this.#lanes.run(`${new URL(address).origin} ${pipeline}`, work);
  }

  /** Rules were read by this build, so that it knows their channels. */
  #definitionOf({ type }: Channel): ChannelDefinition {
    const definition = findChannel(this.#channels, type);
    assert(definition !== undefined, `there is a channel ${type}`);
    return definition;
  }

  async #send(rule: PlannedRule, event: NotificationEvent): Promise<void> {
    const { name, channel, dedupe_window_secs: windowSecs } = rule;
    const key = keyOf(name, channel, event);
    const slot = `${event.event} ${key}`;
    if (!this.#memory.claim(slot, windowSecs)) {
      this.#env.metrics.inc(DROPPED, { channel: channel.type, reason: 'coalesced' });
      return;
    }
    const fault = await this.dispatch(channel, event);
    if (fault !== undefined) {
      this.#memory.release(slot);
      this.#logFailure(name, channel, event, fault);
      return;
    }
    const { incidents } = this.#definitionOf(channel);
    if (incidents?.opening.has(event.event) === true) await this.#open(channel, incidents, event);
  }

  async #open(
    { config }: Channel,
    incidents: ChannelIncidents<unknown>,
    event: Sent,
  ): Promise<void> {
    const about = this.#withoutSecrets(event);
    const id = incidentId(incidents.resolve(config, about));
    this.#memory.open(id);
    await this.#incidents.add(id, about).catch((error: unknown) =>
      this.#log().warn('an open incident could not be stored: no other process will resolve it', {
        ...about,
        error: messageOf(error),
      }),
    );
  }

  #withoutSecrets({ pipeline, row }: Pick<Sent, 'pipeline' | 'row'>): {
    pipeline: string;
    row: string;
  } {
    const { redactor } = this.#env;
    return { pipeline: redactor.text(pipeline), row: redactor.text(row) };
  }

  async #resolve({ name, channel, incidents, about }: Recovery): Promise<void> {
    const message = incidents.resolve(channel.config, this.#withoutSecrets(about));
    const id = incidentId(message);
    if (!this.#memory.isOpen(id) && !(await this.#incidents.has(id))) return;
    const fault = await this.#deliver(channel, { ...about, event: 'resolve' }, message);
    if (fault === undefined) {
      this.#memory.resolved(id);
      await this.#incidents.remove(id).catch(() => {});
    } else this.#logFailure(name, channel, { ...about, event: 'resolve' }, fault);
  }

  async #deliver(
    channel: Channel,
    { event }: Sent,
    message: ChannelMessage,
  ): Promise<string | undefined> {
    const { clock, metrics, redactor } = this.#env;
    const own = new Redactor();
    for (const secret of this.#definitionOf(channel).secrets(channel.config)) own.register(secret);
    const from = clock.elapsedMs();
    const fault = await deliver(message, this.#env, (text) => redactor.text(own.text(text)));
    metrics.observe(DURATION, { channel: channel.type }, (clock.elapsedMs() - from) / 1000);
    metrics.inc(SENT, {
      channel: channel.type,
      event,
      outcome: fault === undefined ? 'ok' : 'error',
    });
    if (fault !== undefined)
      metrics.inc(DROPPED, { channel: channel.type, reason: 'channel_error' });
    return fault;
  }

  #logFailure(
    rule: string,
    { type: channel }: Channel,
    { event, pipeline, row }: Sent,
    reason: string,
  ): void {
    this.#log().warn('a notification could not be delivered', {
      rule,
      channel,
      event,
      pipeline,
      row,
      reason,
    });
  }

  #drop(pipeline: string, sends: readonly { readonly rule: PlannedRule }[]): void {
    for (const { rule } of sends)
      this.#env.metrics.inc(DROPPED, { channel: rule.channel.type, reason: 'channel_error' });
    this.#log().warn('notifications were dropped: too many are on their way', {
      pipeline,
      dropped: sends.length,
    });
  }

  #log(): Env['log'] {
    return this.#env.log.at('headgate::notifications');
  }
}

/** A success opens no incident, so channels with incidents get no message for it. */
export function takes(rule: PlannedRule, { event, details }: NotificationEvent): boolean {
  if (event === 'run_success' && rule.keepsIncidents) return false;
  if (event === 'dlq_threshold' && Number(details['records_dlq'] ?? 0) < rule.dlq_threshold)
    return false;
  return wants(rule, event);
}

/**
 * The rule and its subject. Rules with the same name in different documents are different rules.
 */
function keyOf(
  name: string,
  { type, config }: Channel,
  { pipeline, row }: Pick<Sent, 'pipeline' | 'row'>,
): string {
  return hash('sha256', stringifyJson([name, type, config as JsonValue, pipeline, row]));
}

function redacted(event: NotificationEvent, redactor: Redactor): NotificationEvent {
  const { pipeline, row, title, message, details } = event;
  return {
    ...event,
    pipeline: redactor.text(pipeline),
    row: redactor.text(row),
    title: redactor.text(title),
    message: redactor.text(message),
    details: redactor.json(details),
  };
}
