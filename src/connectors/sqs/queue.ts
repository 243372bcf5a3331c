/** A queue as one of its consumers sees it: what is not deleted comes again. */
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { atOnce, inBatches, UNTOLD } from '../_http/batches.ts';
import { Inbox } from '../_brokers/inbox.ts';
import type { MessageQueue } from '../_brokers/message-source.ts';
import { isFifo, type SqsSourceConfig } from './config.ts';
import type { SqsLink } from './link.ts';
import type { SqsMessage } from './messages.ts';

/** More are not given, and not in one request. */
const MOST_AT_ONCE = 10;
/** Messages that a consumer may have and not have deleted. */
const MOST_OPEN = 100_000;
const REQUESTS_AT_ONCE = 4;
const CLOSE_MS = 800;

interface BatchAnswer {
  readonly Successful?: readonly { readonly Id: string | undefined }[] | undefined;
  readonly Failed?: readonly {
    readonly Id: string | undefined;
    readonly SenderFault: boolean | undefined;
    readonly Code: string | undefined;
  }[];
}

type Entry = { Id: string; ReceiptHandle: string };

export class SqsQueue implements MessageQueue<SqsMessage> {
  readonly mostOpen: number;
  readonly #link: SqsLink;
  readonly #config: SqsSourceConfig;
  readonly #context: SourceContext;
  readonly #inbox = new Inbox<SqsMessage>();
  /** Those that the service still hides from others for this run. */
  readonly #held = new Set<SqsMessage>();
  readonly #closing = new AbortController();
  #receiving: Promise<void> | undefined;
  #isMoreThere = false;
  isFailing = false;
  /** When it was asked what it has not answered. */
  #askedMs = Infinity;
  #keeping: Promise<void> | undefined;
  /** When the last message came, or the first was asked for. */
  #lastMs: number | undefined;

  constructor(link: SqsLink, config: SqsSourceConfig, context: SourceContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    // A FIFO queue gives nothing more of a group of which messages are out.
    this.mostOpen = isFifo(config.queue_url) ? 1 : MOST_OPEN;
  }

  take(most: number): SqsMessage | undefined {
    const message = this.#inbox.take();
    // The last messages are worked on while the service answers.
    if (message !== undefined && this.#isMoreThere && this.#inbox.length < MOST_AT_ONCE)
      this.#receive(most - 1 - this.#inbox.length);
    return message;
  }

  async wait(most: number, ms: number): Promise<void> {
    const { signal, env } = this.#context;
    if (this.#inbox.length === 0) this.#receive(most);
    await this.#inbox.arrival(ms, { clock: env.clock, signal });
  }

  hasAnswered(beforeMs: number): boolean {
    return !this.isFailing && this.#askedMs >= beforeMs;
  }

  /** A message that cannot be deleted any more comes again. */
  async acknowledge(messages: readonly SqsMessage[]): Promise<void> {
    const left = messages.filter(({ state }) => state !== 'deleted');
    await this.#inBatches(left, async (batch) => {
      const answer = await this.#link.ask('messages cannot be deleted', (client, options) =>
        client.deleteMessageBatch(
          { QueueUrl: this.#config.queue_url, Entries: batch.map(entryOf) },
          options,
        ),
      );
      this.#settle(batch, answer, 'messages cannot be deleted', (message) => {
        this.#held.delete(message);
        message.state = 'deleted';
      });
    });
  }

  /** What was not deleted is for others at once. */
  async close(): Promise<void> {
    const { signal, env } = this.#context;
    // The service may give messages to a request whose sender is gone.
    if (this.#receiving !== undefined && !signal.aborted)
      await Promise.race([this.#receiving, env.clock.sleep(CLOSE_MS / 2, signal)]);
    this.#closing.abort(new Error('the source was closed'));
    await this.#receiving;
    await this.#keeping;
    const given = AbortSignal.timeout(CLOSE_MS);
    await this.#hide([...this.#held], 0, given).catch(() => {});
    this.#held.clear();
    this.#inbox.drain();
    await this.#link.close();
  }

  /** One request at a time: answers that overtake each other would change the order. */
  #receive(most: number): void {
    if (this.#receiving !== undefined || most <= 0 || this.#closing.signal.aborted) return;
    const { queue_url: url, visibility_timeout_secs: hidden } = this.#config;
    const { clock } = this.#context.env;
    const fromMs = clock.elapsedMs();
    const doing = 'messages cannot be received';
    const count = Math.min(most, MOST_AT_ONCE);
    const request = {
      QueueUrl: url,
      MaxNumberOfMessages: count,
      WaitTimeSeconds: this.#waitSeconds(fromMs),
      VisibilityTimeout: hidden,
    };
    const signal = AbortSignal.any([this.#context.signal, this.#closing.signal]);
    this.#askedMs = fromMs;
    this.#receiving = this.#link
      .ask(doing, (client, options) => client.receiveMessage(request, options), signal)
      .then(({ Messages: messages = [] }) => {
        this.isFailing = false;
        this.#isMoreThere = messages.length === count;
        for (const { MessageId: id = '', ReceiptHandle: handle = '', Body: body = '' } of messages)
          this.#add({ id, handle, body, state: 'held', hiddenUntilMs: fromMs + hidden * 1000 });
      })
      .catch((error: unknown) => {
        this.#isMoreThere = false;
        this.isFailing = true;
        if (!signal.aborted) this.#inbox.fail(error);
      })
      .finally(() => {
        this.#receiving = undefined;
        this.#askedMs = Infinity;
      });
  }

  /** The last request before the run ends does not outlast it. */
  #waitSeconds(nowMs: number): number {
    const { wait_time_seconds: most, idle_timeout_secs: idle = Infinity } = this.#config;
    const restMs = idle * 1000 - (nowMs - (this.#lastMs ??= nowMs));
    return Math.max(0, Math.min(most, Math.floor(restMs / 1000)));
  }

  #add(message: SqsMessage): void {
    this.#lastMs = this.#context.env.clock.elapsedMs();
    this.#held.add(message);
    this.#inbox.push(message);
    this.#keeping ??= this.#keepHidden();
  }

  /** For as long as this run has messages, others do not get them. */
  async #keepHidden(): Promise<void> {
    const { clock, log } = this.#context.env;
    const { visibility_timeout_secs: seconds } = this.#config;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await clock.sleep((seconds * 1000) / 3, signal);
      if (signal.aborted) return;
      const due = clock.elapsedMs() + (seconds * 1000 * 2) / 3;
      const ending = [...this.#held].filter(({ hiddenUntilMs }) => hiddenUntilMs <= due);
      await this.#hide(ending, seconds, signal).catch((error: unknown) => {
        if (!signal.aborted)
          log.warn('the time for which messages are hidden cannot be extended', {
            reason: messageOf(error),
          });
      });
    }
  }

  async #hide(
    messages: readonly SqsMessage[],
    seconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#context.env;
    const doing = 'the time for which messages are hidden cannot be changed';
    await this.#inBatches(messages, async (batch) => {
      const fromMs = clock.elapsedMs();
      const held = batch.filter(({ state }) => state === 'held');
      if (held.length === 0) return;
      const entries = held.map((message, index) => ({
        ...entryOf(message, index),
        VisibilityTimeout: seconds,
      }));
      const answer = await this.#link.ask(
        doing,
        (client, options) =>
          client.changeMessageVisibilityBatch(
            { QueueUrl: this.#config.queue_url, Entries: entries },
            options,
          ),
        signal,
      );
      this.#settle(held, answer, doing, (message) => {
        message.hiddenUntilMs = fromMs + seconds * 1000;
      });
    });
  }

  async #inBatches(
    messages: readonly SqsMessage[],
    work: (batch: readonly SqsMessage[]) => Promise<void>,
  ): Promise<void> {
    const most = { count: MOST_AT_ONCE, bytes: Infinity };
    await atOnce(
      inBatches(messages, most, () => 0),
      REQUESTS_AT_ONCE,
      work,
    );
  }

  /** Throws where the service itself failed on a message: that is worth another attempt. */
  #settle(
    batch: readonly SqsMessage[],
    { Failed: failed = [], Successful: taken = [] }: BatchAnswer,
    doing: string,
    done: (message: SqsMessage) => void,
  ): void {
    const faults = new Map(failed.map((one) => [Number(one.Id), one]));
    const told = new Set(taken.map((one) => Number(one.Id)));
    const lost = new Map<string, number>();
    for (const [index, message] of batch.entries()) {
      const fault = faults.get(index);
      if (told.has(index)) done(message);
      else if (fault?.SenderFault === true && message.state === 'held') {
        this.#held.delete(message);
        message.state = 'lost';
        const code = fault.Code ?? '';
        lost.set(code, (lost.get(code) ?? 0) + 1);
      }
    }
    for (const [reason, messages] of lost)
      this.#context.env.log.warn('messages come again: somebody else may have them by now', {
        messages,
        reason,
      });
    const busy = batch.flatMap((_, index) =>
      told.has(index) || faults.get(index)?.SenderFault === true
        ? []
        : [faults.get(index)?.Code ?? UNTOLD],
    );
    if (busy.length === 0) return;
    const why = `${doing}: the service failed on ${busy.length}: ${busy[0]}`;
    throw new ConnectorError('http_5xx', why);
  }
}

function entryOf({ handle }: SqsMessage, index: number): Entry {
  return { Id: String(index), ReceiptHandle: handle };
}
