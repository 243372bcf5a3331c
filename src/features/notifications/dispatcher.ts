/** Sends events through rules: who is told what, in which order, and what is remembered of it. */
import { hash } from 'node:crypto';
import {
  keepsIncidents,
  type Channel,
  type IncidentConfig,
  type NotificationRule,
} from '../../blocks/notifications/schema.ts';
import { wants } from '../../blocks/notifications/events.ts';
import type { Env } from '../../lib/env.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { Redactor } from '../../lib/redact.ts';
import type { Message } from './channels/message.ts';
import { opensIncident, resolveMessage, triggerMessage } from './channels/pagerduty.ts';
import { chatMessage } from './channels/slack.ts';
import { webhookMessage } from './channels/webhook.ts';
import { deliver } from './deliver.ts';
import type { NotificationEvent } from './event.ts';
import { Lanes } from './lanes.ts';
import { NotificationMemory } from './memory.ts';
import { DROPPED, DURATION, SENT } from './metrics.ts';
import type { RunNews } from './run-events.ts';

/**
 * Runs whose news are on their way; those of more are let go, so that dead receivers cannot fill
 * the memory.
 */
const MAX_UNDERWAY = 1000;

export interface Notice extends RunNews {
  readonly pipeline: string;
  readonly rules: readonly NotificationRule[];
}

type Sent = Pick<NotificationEvent, 'pipeline' | 'row'> & {
  readonly event: NotificationEvent['event'] | 'resolve';
};

export type DispatcherEnv = Pick<Env, 'clock' | 'fetch' | 'log' | 'metrics' | 'redactor'>;

export class Dispatcher {
  readonly #env: DispatcherEnv;
  readonly #memory: NotificationMemory;
  readonly #lanes = new Lanes();
  #underway = 0;

  constructor(env: DispatcherEnv) {
    this.#env = env;
    this.#memory = new NotificationMemory(env.clock);
  }

  /** Resolves when everybody has been told or could not be reached. Never rejects. */
  async tell({ pipeline, rules, events, recovered }: Notice): Promise<void> {
    const sends = events.flatMap((event) =>
      rules.filter((rule) => takes(rule, event)).map((rule) => ({ rule, event })),
    );
    if (this.#underway >= MAX_UNDERWAY) return this.#letGo(pipeline, sends);
    const resolves = rules.flatMap(({ name, channel }) =>
      isIncidents(channel)
        ? recovered.map((row) => ({ name, channel, about: { pipeline, row } }))
        : [],
    );
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

  /** One event to one channel, whatever was sent before. Gives why it did not arrive. */
  async dispatch(channel: Channel, event: NotificationEvent): Promise<string | undefined> {
    const told = redacted(event, this.#env.redactor);
    return this.#deliver(channel, event, messageTo(channel, told));
  }

  /** A receiver is told about a pipeline in the order in which things happened. */
  #inOrder(pipeline: string, channel: Channel, work: () => Promise<void>): Promise<void> {
    return this.#lanes.run(`${new URL(addressOf(channel)).origin} ${pipeline}`, work);
  }

  async #send(rule: NotificationRule, event: NotificationEvent): Promise<void> {
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
      this.#complain(name, channel, event, fault);
    } else if (keepsIncidents(channel) && opensIncident(event.event)) this.#memory.open(key);
  }

  async #resolve({
    name,
    channel,
    about,
  }: {
    name: string;
    channel: IncidentChannel;
    about: Omit<Sent, 'event'>;
  }): Promise<void> {
    const key = keyOf(name, channel, about);
    if (!this.#memory.isOpen(key)) return;
    const told = {
      pipeline: this.#env.redactor.text(about.pipeline),
      row: this.#env.redactor.text(about.row),
    };
    const fault = await this.#deliver(
      channel,
      { ...about, event: 'resolve' },
      resolveMessage(channel.config, told.pipeline, told.row),
    );
    if (fault === undefined) this.#memory.resolved(key);
    else this.#complain(name, channel, { ...about, event: 'resolve' }, fault);
  }

  async #deliver(channel: Channel, { event }: Sent, message: Message): Promise<string | undefined> {
    const { clock, metrics, redactor } = this.#env;
    const own = new Redactor();
    for (const secret of secretsOf(channel)) own.register(secret);
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

  #complain(
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

  #letGo(pipeline: string, sends: readonly { readonly rule: NotificationRule }[]): void {
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

type IncidentChannel = Extract<Channel, { readonly config: IncidentConfig }>;

function isIncidents(channel: Channel): channel is IncidentChannel {
  return keepsIncidents(channel);
}

/** A success opens no incident, so there is nothing to tell where incidents are kept. */
export function takes(rule: NotificationRule, { event, details }: NotificationEvent): boolean {
  if (event === 'run_success' && keepsIncidents(rule.channel)) return false;
  if (event === 'dlq_threshold' && Number(details['records_dlq'] ?? 0) < rule.dlq_threshold)
    return false;
  return wants(rule, event);
}

/** The rule and what it tells about. Rules of one name in different documents are not the same. */
function keyOf(
  name: string,
  channel: Channel,
  { pipeline, row }: Pick<Sent, 'pipeline' | 'row'>,
): string {
  return hash(
    'sha256',
    stringifyJson([name, { ...channel, config: { ...channel.config } }, pipeline, row]),
  );
}

function addressOf({ config }: Channel): string {
  if ('webhook_url' in config) return config.webhook_url;
  return 'endpoint' in config ? config.endpoint : config.url;
}

/** What must not turn up in a sentence, though it may stand in the document as it is. */
function secretsOf(channel: Channel): readonly string[] {
  switch (channel.type) {
    case 'slack':
    case 'chat_webhook':
      return secretAddress(channel.config.webhook_url);
    case 'pagerduty':
    case 'incident_api':
      return [channel.config.routing_key];
    case 'webhook':
      return [
        ...secretAddress(channel.config.url),
        channel.config.hmac_secret ?? '',
        ...Object.values(channel.config.headers),
      ];
    default:
      return channel satisfies never;
  }
}

/** Servers and proxies tell what they were asked for without their own name in front. */
function secretAddress(address: string): readonly string[] {
  const { pathname, search } = new URL(address);
  return [address, pathname + search, pathname];
}

function messageTo(channel: Channel, event: NotificationEvent): Message {
  switch (channel.type) {
    case 'slack':
    case 'chat_webhook':
      return chatMessage(channel.config, event);
    case 'pagerduty':
    case 'incident_api':
      return triggerMessage(channel.config, event);
    case 'webhook':
      return webhookMessage(channel.config, event);
    default:
      return channel satisfies never;
  }
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
