import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError, isTransient, messageOf } from '../../lib/errors.ts';
import { Inbox } from '../_brokers/inbox.ts';
import type { MessageQueue } from '../_brokers/message-source.ts';
import { Window } from '../_brokers/window.ts';
import { GoogleError } from '../_google/errors.ts';
import { atOnce, inBatches } from '../_http/batches.ts';
import { ACKNOWLEDGE, GET_SUBSCRIPTION, MODIFY_DEADLINE, PULL } from './api.ts';
import type { PubsubSourceConfig } from './config.ts';
import type { Asking, PubsubLink } from './link.ts';
import { sizeOf, type HeldMessage } from './messages.ts';

/** How long a message is held each time; extended for as long as this run has it. */
export const HOLD_SECS = 60;
/** The service waits for a message, and says that there is none well before this. */
const PULL_MS = 90_000;
/** Messages that a page of everything may hold. */
const MOST_OPEN = 100_000;
const MOST_IDS = { count: 1000, bytes: 400_000 };
const REQUESTS_AT_ONCE = 4;
const CLOSE_MS = 800;

const PERMANENT = /^PERMANENT_FAILURE/;
const TRANSIENT = /^TRANSIENT_FAILURE/;

export class PubsubQueue implements MessageQueue<HeldMessage> {
  readonly #link: PubsubLink<'subscription'>;
  readonly #context: SourceContext;
  readonly #inbox = new Inbox<HeldMessage>();
  readonly #window: Window;
  /** Those that the service gives to nobody else for now. */
  readonly #held = new Set<HeldMessage>();
  readonly #closing = new AbortController();
  isFailing = false;
  #isOrdered = false;
  #pulling: Promise<void> | undefined;
  #keeping: Promise<void> | undefined;

  constructor(
    link: PubsubLink<'subscription'>,
    config: PubsubSourceConfig,
    context: SourceContext,
  ) {
    this.#link = link;
    this.#context = context;
    this.#window = new Window(config.max_messages_per_pull, context.pageBytes);
  }

  /** Nothing more may come of an ordering key of which messages are not acknowledged. */
  get mostOpen(): number {
    return this.#isOrdered ? 1 : MOST_OPEN;
  }

  take(most: number): HeldMessage | undefined {
    const message = this.#inbox.take();
    // The last messages are worked on while the service answers.
    if (message !== undefined && this.#inbox.length < this.#window.size / 2)
      this.#pull(most - 1 - this.#inbox.length);
    return message;
  }

  async wait(most: number, ms: number): Promise<void> {
    const { signal, env } = this.#context;
    if (this.#inbox.length === 0) this.#pull(most);
    await this.#inbox.arrival(ms, { clock: env.clock, signal });
  }

  async hasAnswered(): Promise<boolean> {
    if (this.isFailing) return false;
    await this.#assertThere(AbortSignal.any([this.#context.signal, this.#closing.signal]));
    return true;
  }

  /** A message that cannot be acknowledged any more comes again. */
  async acknowledge(messages: readonly HeldMessage[]): Promise<void> {
    const left = messages.filter(({ state }) => state === 'held');
    await this.#inBatches(left, async (batch) => {
      const doing = 'messages cannot be acknowledged';
      await this.#settle(batch, doing, (ids) =>
        this.#link.ask(ACKNOWLEDGE, { ack_ids: ids }, { doing }),
      );
      for (const message of batch) {
        this.#held.delete(message);
        if (message.state === 'held') message.state = 'done';
      }
    });
  }

  /** What was not acknowledged is for others at once. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the source was closed'));
    await this.#pulling;
    await this.#keeping;
    const signal = AbortSignal.timeout(CLOSE_MS);
    await this.#hold([...this.#held], 0, signal).catch(() => {});
    this.#held.clear();
    this.#inbox.drain();
    await this.#link.close();
  }

  /** One request at a time: answers that overtake each other would change the order. */
  #pull(most: number): void {
    if (this.#pulling !== undefined || most <= 0 || this.#closing.signal.aborted) return;
    const signal = AbortSignal.any([this.#context.signal, this.#closing.signal]);
    this.#pulling = this.#pullOnce(Math.min(most, this.#window.size), signal)
      .catch((error: unknown) => {
        // That no message came in all this time is no failure, as long as the service is there.
        if (!(error instanceof ConnectorError) || error.kind !== 'timeout') throw error;
        return this.#assertThere(signal);
      })
      .then(() => {
        this.isFailing = false;
      })
      .catch((error: unknown) => {
        this.isFailing = true;
        if (!signal.aborted) this.#inbox.fail(error);
      })
      .finally(() => {
        this.#pulling = undefined;
      });
  }

  /** Any answer will do: who may pull need not be allowed to ask for more. */
  async #assertThere(signal: AbortSignal): Promise<void> {
    try {
      await this.#link.ask(GET_SUBSCRIPTION, {}, { doing: 'messages cannot be pulled', signal });
    } catch (error) {
      if (error instanceof ConnectorError && !isTransient(error.kind)) return;
      throw error;
    }
  }

  async #pullOnce(count: number, signal: AbortSignal): Promise<void> {
    const asking: Asking = { doing: 'messages cannot be pulled', signal, timeoutMs: PULL_MS };
    const answer = await this.#link.ask(PULL, { max_messages: count }, asking);
    let total = 0;
    const come = answer.received_messages.map((received): HeldMessage => {
      const bytes = sizeOf(received);
      total += bytes;
      if (received.message.ordering_key !== '') this.#isOrdered = true;
      return { received, bytes, state: 'held', heldUntilMs: -Infinity };
    });
    this.#window.seen(come.length, total);
    for (const message of come) {
      this.#held.add(message);
      this.#inbox.push(message);
    }
    if (come.length > 0) this.#keeping ??= this.#keep();
    // The subscription may hold them for ten seconds only.
    await this.#hold(come, HOLD_SECS, signal).catch((error: unknown) => this.#tellUnheld(error));
  }

  /** For as long as this run has messages, others do not get them. */
  async #keep(): Promise<void> {
    const { clock } = this.#context.env;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await clock.sleep((HOLD_SECS * 1000) / 3, signal);
      if (signal.aborted) return;
      const due = clock.elapsedMs() + (HOLD_SECS * 1000 * 2) / 3;
      const ending = [...this.#held].filter(({ heldUntilMs }) => heldUntilMs <= due);
      await this.#hold(ending, HOLD_SECS, signal).catch((error: unknown) =>
        this.#tellUnheld(error),
      );
    }
  }

  #tellUnheld(error: unknown): void {
    if (this.#closing.signal.aborted || this.#context.signal.aborted) return;
    this.#context.env.log.warn('messages cannot be held for longer, so they may come again', {
      reason: messageOf(error),
    });
  }

  async #hold(
    messages: readonly HeldMessage[],
    seconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#context.env;
    const doing = 'messages cannot be held for longer';
    await this.#inBatches(messages, async (batch) => {
      const fromMs = clock.elapsedMs();
      const held = batch.filter(({ state }) => state === 'held');
      if (held.length === 0) return;
      await this.#settle(held, doing, (ids) =>
        this.#link.ask(
          MODIFY_DEADLINE,
          { ack_ids: ids, ack_deadline_seconds: seconds },
          { doing, signal },
        ),
      );
      for (const message of held) message.heldUntilMs = fromMs + seconds * 1000;
    });
  }

  async #inBatches(
    messages: readonly HeldMessage[],
    work: (batch: readonly HeldMessage[]) => Promise<void>,
  ): Promise<void> {
    const batches = inBatches(messages, MOST_IDS, ({ received }) => received.ack_id.length);
    await atOnce(batches, REQUESTS_AT_ONCE, work);
  }

  /**
   * A subscription that delivers exactly once says of which messages somebody else may have taken
   * over: they come again. Of others it says nothing.
   */
  async #settle(
    messages: readonly HeldMessage[],
    doing: string,
    ask: (ids: readonly string[]) => Promise<unknown>,
  ): Promise<void> {
    try {
      await ask(messages.map(({ received }) => received.ack_id));
    } catch (error) {
      if (!(error instanceof GoogleError)) throw error;
      const outcomes = Object.assign(
        {},
        ...error.infos.map(({ metadata }) => metadata),
      ) as Readonly<Record<string, string>>;
      const outcomeOf = ({ received }: HeldMessage): string => outcomes[received.ack_id] ?? '';
      const lost = messages.filter((message) => PERMANENT.test(outcomeOf(message)));
      const unsure = messages.filter((message) => TRANSIENT.test(outcomeOf(message)));
      if (lost.length === 0 && unsure.length === 0) throw error;
      for (const message of lost) {
        this.#held.delete(message);
        message.state = 'lost';
      }
      if (lost.length > 0)
        this.#context.env.log.warn('messages come again: somebody else may have them by now', {
          messages: lost.length,
        });
      if (unsure.length > 0)
        throw new ConnectorError('http_5xx', `${doing}: ${unsure.length} of them for now`);
    }
  }
}
