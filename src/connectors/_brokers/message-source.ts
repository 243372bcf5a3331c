/** The reading side of brokers that deliver messages one by one and are told which are done. */
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import { unreadText } from '../../kit/rejected-record.ts';
import type { ReadRequest, Source, SourceLag } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { PageCutter } from '../_files/lines/cut-pages.ts';
import type { OnDecodeError } from './decode.ts';
import { readAgain } from './read-again.ts';

/** How long a message waits until its page is given. */
export const IDLE_FLUSH_MS = 200;

/** Connects when it is first asked, and again by the first call after the connection was lost. */
export interface MessageQueue<M> {
  /** Called first where an earlier run has read it, and counts on what it has left. */
  resume?(): void;
  /** What has come already. At most `most` messages may still be asked for. */
  take(most: number): M | undefined;
  /** Waits for messages, at most so long; rejects when the connection is lost. */
  wait(most: number, ms: number): Promise<void>;
  /** They do not come again when this has resolved. Absent where nothing comes twice. */
  acknowledge?(messages: readonly M[]): Promise<void>;
  /** How many may be without acknowledgement before nothing more comes. */
  readonly mostOpen?: number;
  /** Whether it has failed, and not been answered since. Absent where each wait connects first. */
  readonly isFailing?: boolean;
  /**
   * Whether the server has answered all that it was asked before then. A run does not end because
   * nothing came of a server that is silent.
   */
  hasAnswered?(beforeMs: number): boolean | Promise<boolean>;
  /** How many messages were behind this one when it came. */
  behind?(message: M): number | undefined;
  /** Gives back what came and was not acknowledged. Never rejects. */
  close(): Promise<void>;
}

export interface MessageFormat<M> {
  /** Throws `ConnectorError('data', …)` for a message that cannot be decoded. */
  record(message: M): JsonValue;
  bytes(message: M): Uint8Array;
  size(message: M): number;
  /** How errors and dead letters call it. */
  name(message: M): string;
  /** By which people find it at the other side; bookmarks show that of their last message. */
  id?(message: M): string;
}

export interface MessageSetup<M> {
  readonly queue: MessageQueue<M>;
  readonly format: MessageFormat<M>;
  readonly context: SourceContext;
  readonly batchSize: number;
  readonly maxMessages: number | undefined;
  readonly idleSeconds: number | undefined;
  readonly onDecodeError: OnDecodeError;
}

export class MessageSource<M> implements Source {
  readonly acknowledge?: (bookmark: JsonValue) => Promise<void>;
  readonly #setup: MessageSetup<M>;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #waiting: ReturnType<typeof readAgain>;
  /** Messages that were taken and not acknowledged, in order. */
  #open: M[] = [];
  /** How many were taken before those. */
  #done = 0;
  /** How many were taken before the last bookmark. */
  #marked = 0;
  #last: M | undefined;
  #idleMs = 0;
  /** Since when the run may end. */
  #idleAtMs: number | undefined;
  #skipped = 0;
  #isClosed = false;

  constructor(setup: MessageSetup<M>) {
    this.#setup = setup;
    const { queue } = setup;
    this.#again = readAgain(setup.context);
    this.#waiting = readAgain(setup.context, { isFailing: () => queue.isFailing === true });
    if (queue.acknowledge !== undefined)
      this.acknowledge = (bookmark) => this.#acknowledge(bookmark);
  }

  async *pages({ lane, limit = Infinity, rejects, bookmark }: ReadRequest): AsyncGenerator<Page> {
    const { queue, context, batchSize, maxMessages } = this.#setup;
    const { signal, env } = context;
    signal.throwIfAborted();
    if (bookmark !== undefined) queue.resume?.();
    const cutter = new PageCutter(lane, pageBounds(batchSize, context.pageBytes));
    /** When the page in hand must be given, full or not. */
    let dueMs = Infinity;
    const cut = (behind = 0): Page => {
      dueMs = Infinity;
      return cutter.take(this.#bookmark(behind));
    };
    let left = Math.min(limit, maxMessages ?? Infinity);
    try {
      while (left > 0) {
        const message = queue.take(left) ?? (await this.#next(left, dueMs));
        if (message === 'end') break;
        if (message === 'pause') {
          if (this.#hasToGive(cutter)) yield cut();
          continue;
        }
        this.#idleMs = 0;
        this.#idleAtMs = undefined;
        this.#open.push(message);
        const add = this.#decoded(message, rejects === true);
        if (add?.(cutter) === false) {
          yield cut(1);
          signal.throwIfAborted();
          add(cutter);
        }
        this.#last = message;
        left -= 1;
        if (batchSize !== 0) dueMs = Math.min(dueMs, env.clock.elapsedMs() + IDLE_FLUSH_MS / 2);
      }
    } catch (error) {
      // Nobody sends again what came before.
      const isLast = this.acknowledge === undefined && cutter.count > 0 && !signal.aborted;
      if (isLast) yield cut();
      throw error;
    }
    signal.throwIfAborted();
    if (cutter.count > 0 || this.#unmarked > 0) yield cut();
    this.#reportSkipped();
  }

  lag(): SourceLag | undefined {
    const { queue } = this.#setup;
    const behind = this.#last === undefined ? undefined : queue.behind?.(this.#last);
    return behind === undefined ? undefined : { records: behind };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#setup.queue.close();
  }

  /** Messages that no bookmark stands behind yet. */
  get #unmarked(): number {
    return this.acknowledge === undefined ? 0 : this.#done + this.#open.length - this.#marked;
  }

  /** A page of everything is given only when nothing more comes before it is acknowledged. */
  #hasToGive({ count }: PageCutter): boolean {
    const { batchSize, queue } = this.#setup;
    if (count === 0 && this.#unmarked === 0) return false;
    return batchSize !== 0 || this.#open.length >= (queue.mostOpen ?? Infinity);
  }

  /** Of a page that holds all messages that were taken, but for the last `behind`. */
  #bookmark(behind: number): JsonValue | undefined {
    if (this.acknowledge === undefined) {
      this.#open = [];
      return undefined;
    }
    this.#marked = this.#done + this.#open.length - behind;
    const last = this.#open.at(-1 - behind);
    const id = last === undefined ? undefined : this.#setup.format.id?.(last);
    return { delivered: this.#marked, ...(id === undefined ? {} : { last_message_id: id }) };
  }

  async #acknowledge(bookmark: JsonValue): Promise<void> {
    const delivered = isObject(bookmark) ? bookmark['delivered'] : undefined;
    const count = Math.min(Number(delivered ?? 0) - this.#done, this.#open.length);
    if (!(count > 0)) return;
    const done = this.#open.slice(0, count);
    await this.#again(async () => this.#setup.queue.acknowledge?.(done));
    this.#open = this.#open.slice(count);
    this.#done += count;
  }

  /**
   * The next message. `pause`: the page in hand is due, or none has come for a while; `end`: none has
   * for as long as the run may wait.
   */
  async #next(left: number, dueMs: number): Promise<M | 'pause' | 'end'> {
    const { queue, context, idleSeconds = Infinity } = this.#setup;
    const { clock } = context.env;
    const from = clock.elapsedMs();
    if (from >= dueMs) return 'pause';
    const idleMs = idleSeconds * 1000;
    const restMs = idleMs > this.#idleMs ? idleMs - this.#idleMs : Infinity;
    const waitMs = Math.max(1, Math.min(IDLE_FLUSH_MS / 2, dueMs - from, restMs));
    const message = await this.#waiting(async () => {
      await queue.wait(left, waitMs);
      context.signal.throwIfAborted();
      return queue.take(left);
    });
    if (message !== undefined) return message;
    // Time that it took to connect is no silence.
    this.#idleMs += Math.min(waitMs, clock.elapsedMs() - from);
    if (this.#idleMs < idleMs) return 'pause';
    return this.#isIdle(left);
  }

  /** What came while the server was asked is taken first. */
  async #isIdle(left: number): Promise<M | 'pause' | 'end'> {
    const { queue, context } = this.#setup;
    const idleAtMs = (this.#idleAtMs ??= context.env.clock.elapsedMs());
    const isTold = await this.#waiting(async () => (await queue.hasAnswered?.(idleAtMs)) ?? true);
    context.signal.throwIfAborted();
    return queue.take(left) ?? (isTold ? 'end' : 'pause');
  }

  /** How it is added to a page; `undefined` is a message that is left out. */
  #decoded(message: M, rejects: boolean): ((cutter: PageCutter) => boolean) | undefined {
    const { format, onDecodeError, context } = this.#setup;
    const size = format.size(message);
    try {
      const value = format.record(message);
      return (cutter) => cutter.add(value, size);
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
      if (onDecodeError === 'dlq' && rejects) {
        const text = unreadText(Buffer.from(format.bytes(message)), false);
        const unread = { ...text, message: error.message, input: format.name(message), at: {} };
        return (cutter) => cutter.reject(unread, size);
      }
      if (onDecodeError !== 'skip') throw error;
      this.#skipped += 1;
      if (this.#skipped === 1)
        context.env.log.warn('messages that cannot be decoded are left out', {
          first: error.message,
        });
      return undefined;
    }
  }

  #reportSkipped(): void {
    if (this.#skipped < 2) return;
    this.#setup.context.env.log.warn('messages could not be decoded', { count: this.#skipped });
  }
}
