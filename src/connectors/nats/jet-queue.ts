/** A pull consumer of JetStream: what is not acknowledged is delivered again. */
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { Inbox } from '../_brokers/inbox.ts';
import type { MessageQueue } from '../_brokers/message-source.ts';
import { Window } from '../_brokers/window.ts';
import { consumerFacts, deliveries, type ConsumerFacts, type Delivered } from './consumer.ts';
import type { NatsSourceConfig } from './config.ts';
import { natsError } from './errors.ts';
import type { NatsLink } from './link.ts';
import { sizeOf } from './message.ts';
import { overlap } from './subjects.ts';

const EXPIRES_MS = 30_000;
/** After this a request that was not answered counts as lost: the server changed its leader. */
const LOST_AFTER_MS = 5000;
const CONFIRM_MS = 10_000;
const CLOSE_MS = 800;
const NANOSECONDS = 1_000_000;

const HEARTBEAT = 100;
const NOTHING = 404;
const TIME_IS_UP = 408;
const NO_RESPONDERS = 503;
/** Reasons after which the same request can be answered. */
const PASSING = /leadership|shutdown|maxwaiting|interest/i;
const NEW_TOKENS = 11;

const encoder = new TextEncoder();
const ACK = encoder.encode('+ACK');
const NAK = encoder.encode('-NAK');
const IN_PROGRESS = encoder.encode('+WPI');

export interface JetMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Where it is acknowledged. */
  readonly reply: string;
  /** How often it was delivered. */
  readonly attempt: number;
  /** In the stream. */
  readonly sequence: number;
  /** Counts what the consumer has delivered, each time again. */
  readonly delivery: number;
  /** Messages of the consumer behind this one when it was delivered. */
  readonly pending: number;
}

/** A request for messages that the server has not used up. */
interface Pull {
  readonly reply: string;
  readonly batch: number;
  left: number;
  /** Of the messages that it gave. */
  bytes: number;
  readonly lostAtMs: number;
}

interface Session {
  readonly nc: NatsConnection;
  readonly facts: ConsumerFacts;
  readonly inboxes: string;
  readonly subscription: Subscription;
}

export class JetQueue implements MessageQueue<JetMessage> {
  readonly #link: NatsLink;
  readonly #config: NatsSourceConfig & { readonly jetstream_stream: string };
  readonly #context: SourceContext;
  readonly #inbox = new Inbox<JetMessage>();
  readonly #window: Window;
  readonly #over = new AbortController();
  /** Delivered and neither acknowledged nor given back, by sequence. */
  readonly #open = new Map<number, JetMessage>();
  /** Those of them that are written, where one acknowledgement counts for all before it. */
  readonly #written = new Set<number>();
  #isHeldBack = false;
  #session: Session | undefined;
  #pull: Pull | undefined;
  #pulls = 0;
  #keepsAlive = false;
  #last: Delivered | undefined;
  /** Messages that the stream removed before the consumer was given them. */
  #removed = 0;

  constructor(
    link: NatsLink,
    config: NatsSourceConfig & { readonly jetstream_stream: string },
    context: SourceContext,
  ) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#window = new Window(config.batch_size || Infinity, context.pageBytes);
  }

  get mostOpen(): number {
    return this.#session?.facts.mostOpen ?? Infinity;
  }

  take(most: number): JetMessage | undefined {
    const message = this.#inbox.take();
    if (message !== undefined && this.#inbox.length < this.#window.size / 2) this.#ask(most - 1);
    return message;
  }

  async wait(most: number, ms: number): Promise<void> {
    const { signal, env } = this.#context;
    if (this.#inbox.length === 0) {
      await this.#connect();
      this.#ask(most);
    }
    await this.#inbox.arrival(ms, { clock: env.clock, signal });
  }

  behind({ pending }: JetMessage): number {
    return pending;
  }

  async acknowledge(messages: readonly JetMessage[]): Promise<void> {
    const last = messages.at(-1);
    if (last === undefined) return;
    await this.#connect();
    const policy = this.#session?.facts.ackPolicy;
    await this.#link.run('messages cannot be acknowledged', async (nc) => {
      if (policy === 'all') return this.#acknowledgeAll(nc, messages);
      if (policy === 'none') return this.#forget(messages);
      for (const { reply } of messages.slice(0, -1)) nc.publish(reply, ACK);
      // The server works on them in order: when it has answered to the last one, all are done.
      await this.#acknowledgeLast(nc, last);
      this.#forget(messages);
    });
  }

  /**
   * The server would forget everything before the message, also what a run has left that was
   * killed, or what this one has not written. So it waits for that, which comes again.
   */
  async #acknowledgeAll(nc: NatsConnection, messages: readonly JetMessage[]): Promise<void> {
    for (const { sequence } of messages) this.#written.add(sequence);
    const { open, last } = await deliveries(nc, this.#names);
    const held = [...this.#open.values()].sort((a, b) => a.sequence - b.sequence);
    const known = held.filter(({ delivery }) => delivery <= last).length;
    if (known < open) return this.#tellHeldBack(open - known);
    const next = held.findIndex(({ sequence }) => !this.#written.has(sequence));
    const done = next === -1 ? held : held.slice(0, next);
    const end = done.at(-1);
    if (end === undefined) return;
    await this.#acknowledgeLast(nc, end);
    this.#forget(done);
  }

  async #acknowledgeLast(nc: NatsConnection, { reply }: JetMessage): Promise<void> {
    await nc.request(reply, ACK, { timeout: CONFIRM_MS });
  }

  #forget(messages: readonly JetMessage[]): void {
    for (const { sequence } of messages) {
      this.#open.delete(sequence);
      this.#written.delete(sequence);
    }
  }

  #tellHeldBack(others: number): void {
    if (this.#isHeldBack) return;
    this.#isHeldBack = true;
    this.#context.env.log.warn(
      'nothing is acknowledged before messages that another run was given, because the consumer would forget them (`ack_policy: all`); what is written may come again',
      { messages: others },
    );
  }

  async close(): Promise<void> {
    this.#tellRemoved();
    const given = this.#giveBack().catch(() => {});
    await Promise.race([given, this.#context.env.clock.sleep(CLOSE_MS)]);
    this.#over.abort();
    await this.#link.close();
  }

  /** What was delivered and not acknowledged comes again at once, in its order. */
  async #giveBack(): Promise<void> {
    const session = this.#session;
    if (session === undefined || session.nc !== this.#link.current) return;
    const { nc, subscription, facts } = session;
    // What is on its way still comes, and is given back too.
    await subscription.drain();
    if (facts.ackPolicy === 'none' || this.#open.size === 0) return;
    // The question makes the server forget our last request: one that still stands would take the
    // first message, and nobody would see it before its time is over.
    await consumerFacts(nc, this.#names);
    const held = [...this.#open.values()];
    this.#tellLost(held.filter(({ attempt }) => attempt >= facts.mostAttempts));
    const replies = held.map(({ reply }) => reply);
    const last = replies.pop() ?? '';
    for (const reply of replies) nc.publish(reply, NAK);
    await nc.request(last, NAK, { timeout: CLOSE_MS });
  }

  #tellLost({ length }: readonly JetMessage[]): void {
    if (length === 0) return;
    this.#context.env.log.warn(
      'messages that were not written do not come again: the consumer has delivered them as often as `max_deliver` says',
      { messages: length },
    );
  }

  get #names(): { readonly stream: string; readonly consumer: string } {
    const { jetstream_stream: stream, jetstream_consumer: consumer = '' } = this.#config;
    return { stream, consumer };
  }

  async #connect(): Promise<void> {
    if (this.#session !== undefined && this.#session.nc === this.#link.current) return;
    const { stream, consumer } = this.#names;
    const doing = `the consumer \`${consumer}\` of the stream \`${stream}\` cannot be read`;
    this.#pull = undefined;
    await this.#link.run(doing, async (nc) => {
      const facts = await consumerFacts(nc, this.#names);
      this.#checkSubject(facts);
      const { createInbox } = await import('@nats-io/transport-node');
      const inboxes = createInbox();
      const subscription = nc.subscribe(`${inboxes}.*`, {
        callback: (error, message) => {
          if (error === null) this.#received(message, doing);
          else this.#inbox.fail(natsError(error, doing));
        },
      });
      this.#session = { nc, facts, inboxes, subscription };
      this.#last = facts.lastOfAll;
      void nc.closed().then((error) => {
        const lost = error ?? new Error('the connection was lost');
        if (!this.#over.signal.aborted) this.#inbox.fail(natsError(lost, doing));
      });
    });
    const { facts } = this.#session ?? {};
    if (facts !== undefined && !this.#keepsAlive) void this.#keepAlive(facts.ackWaitMs / 3);
  }

  #checkSubject({ filters }: ConsumerFacts): void {
    const { subject, jetstream_consumer: consumer } = this.#config;
    if (filters.length === 0 || filters.some((filter) => overlap(filter, subject))) return;
    const given = filters.map((filter) => `\`${filter}\``).join(', ');
    throw new ConnectorError(
      'refused',
      `the consumer \`${consumer}\` gives ${given}, and nothing of \`${subject}\``,
      { hint: 'set `subject` to what the consumer gives, or name another consumer' },
    );
  }

  /** Asks for more where nothing is asked for. */
  #ask(most: number): void {
    const session = this.#session;
    const nowMs = this.#context.env.clock.elapsedMs();
    if (session === undefined || session.nc !== this.#link.current) return;
    if (this.#pull !== undefined && this.#pull.lostAtMs > nowMs) return;
    const { nc, facts, inboxes } = session;
    const batch = Math.min(this.#window.size, facts.mostAtOnce, most - this.#inbox.length);
    if (batch <= 0) return;
    const expiresMs = Math.min(EXPIRES_MS, facts.mostWaitMs);
    const lostAtMs = nowMs + expiresMs + LOST_AFTER_MS;
    this.#pulls += 1;
    const reply = `${inboxes}.${this.#pulls}`;
    const request = JSON.stringify({ batch, expires: expiresMs * NANOSECONDS });
    nc.publish(facts.nextSubject, request, { reply });
    this.#pull = { reply, batch, left: batch, bytes: 0, lostAtMs };
  }

  #received(message: Msg, doing: string): void {
    if (message.subject.startsWith(this.#session?.inboxes ?? '\0'))
      return this.#ended(message, doing);
    const found = jetMessage(message);
    if (found === undefined) return;
    this.#countRemoved(found);
    const pull = this.#pull;
    if (pull !== undefined) {
      pull.left -= 1;
      pull.bytes += sizeOf(found);
      if (pull.left === 0) this.#finish(pull);
    }
    const isRepeated = this.#open.has(found.sequence);
    if (this.#session?.facts.ackPolicy !== 'none') this.#open.set(found.sequence, found);
    // It was taken already and will be acknowledged.
    if (isRepeated) return;
    if (overlap(found.subject, this.#config.subject)) return this.#inbox.push(found);
    const { subject, jetstream_consumer: consumer } = this.#config;
    const why = `the consumer \`${consumer}\` gave a message of \`${found.subject}\`, which is not of \`${subject}\``;
    const hint = 'give the consumer a filter, or set `subject` to all that it gives';
    this.#inbox.fail(new ConnectorError('refused', why, { hint }));
  }

  /** Between two deliveries that follow each other nobody else was given anything. */
  #countRemoved({ delivery, sequence }: JetMessage): void {
    const last = this.#last;
    if (last === undefined) return;
    const isNext = delivery === last.delivery + 1;
    if (isNext) this.#removed += Math.max(0, sequence - last.sequence - 1);
    this.#last = { delivery, sequence: Math.max(sequence, last.sequence) };
  }

  #tellRemoved(): void {
    if (this.#removed === 0) return;
    this.#context.env.log.warn(
      'the stream removed messages before the consumer was given them; larger limits of the stream (`max_age`, `max_msgs`, `max_bytes`), or more frequent runs, prevent that',
      { messages: this.#removed },
    );
  }

  /** The server has given what there is, or tells why it gives nothing. */
  #ended(message: Msg, doing: string): void {
    const { code = 0, description = '' } = message.headers ?? {};
    if (code === HEARTBEAT || message.subject !== this.#pull?.reply) return;
    this.#finish(this.#pull);
    if (code === NOTHING || code === TIME_IS_UP) return;
    const kind = PASSING.test(description) || code === NO_RESPONDERS ? 'connection' : 'refused';
    const why = description === '' ? `status ${code}` : description;
    this.#inbox.fail(new ConnectorError(kind, `${doing}: ${why}`));
  }

  #finish({ batch, left, bytes }: Pull): void {
    this.#pull = undefined;
    this.#window.seen(batch - left, bytes);
  }

  /** A slow sink must not make the server believe that nobody works on what it delivered. */
  async #keepAlive(everyMs: number): Promise<void> {
    const over = this.#over.signal;
    this.#keepsAlive = true;
    for (;;) {
      await this.#context.env.clock.sleep(everyMs, over);
      if (over.aborted) return;
      const nc = this.#link.current;
      for (const { reply } of this.#open.values()) nc?.publish(reply, IN_PROGRESS);
    }
  }
}

/** `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<consumer sequence>.<time>.<pending>`. */
function jetMessage({ subject, data, reply }: Msg): JetMessage | undefined {
  const tokens = reply?.split('.') ?? [];
  // Newer servers put a domain and an account before the name of the stream.
  const at = tokens.length >= NEW_TOKENS ? 2 : 0;
  const number = (token: number): number => Number(tokens[at + token]);
  const [attempt, sequence, delivery, pending] = [number(4), number(5), number(6), number(8)];
  if (reply === undefined || !Number.isSafeInteger(sequence)) return undefined;
  return { subject, data, reply, attempt, sequence, delivery, pending };
}
