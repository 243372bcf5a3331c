/**
 * `COPY … TO STDOUT` without one object per row. The protocol puts every row into its own message
 * (one byte of kind, four of length, the row). Messages are kept as they arrive; readers go from
 * one to the next.
 */
import type { Socket } from 'node:net';
import type { Submittable } from 'pg';
import { BYTES, cancelStatement } from '../../../lib/sql/postgres.ts';
import { FRAME_HEAD, frameEnd } from '../../_sql/copy-text/frames.ts';
import { withinSecs } from '../../_sql/within-secs.ts';
import type { Connection } from '../../_postgres/connection.ts';

/** With this many unread bytes, reading from the server is paused. */
const HIGH_WATER = 512 * 1024;
const COPY_DATA = 100;
/**
 * CopyOutResponse, and messages that may arrive at any time: ParameterStatus, NoticeResponse,
 * NotificationResponse.
 */
const PASSED_OVER = new Set([72, 83, 78, 65]);

interface Wire {
  readonly stream: Socket;
  query(sql: string): void;
}

type OnData = (bytes: Buffer) => void;

/**
 * The rows of a COPY as chunks of complete messages. A chunk is valid until the next one is
 * requested. The statement is cancelled on the server when the consumer stops or the signal fires.
 */
export async function* copyOut(connection: Connection, sql: string): AsyncGenerator<Buffer, void> {
  const { client, signal, timeoutSecs } = connection;
  const copy = new CopyOut(sql);
  const end = async (): Promise<void> => {
    connection.busyWith(undefined);
    copy.discard();
    if (!copy.over) await cancelStatement(client, copy.ended);
  };
  signal.throwIfAborted();
  connection.busyWith(end);
  // The client's types do not show the socket below a connection.
  client.query(copy as unknown as Submittable);
  try {
    for (;;) {
      const chunk = await connection.ask(() => withinSecs(copy.take(), timeoutSecs));
      if (chunk === undefined) return;
      yield chunk;
    }
  } finally {
    await end();
  }
}

class CopyOut {
  /**
   * Settles when the server has ended the statement, with or without an error; never causes an
   * unhandled rejection.
   */
  readonly ended: Promise<void>;
  over = false;
  readonly #text: string;
  readonly #settle: { resolve: () => void; reject: (error: unknown) => void };
  #wire: Wire | undefined;
  #parser: OnData | undefined;
  #buffer = Buffer.allocUnsafeSlow(HIGH_WATER);
  #spare = Buffer.allocUnsafeSlow(HIGH_WATER);
  #length = 0;
  /** Bytes of `#buffer` that are complete messages. */
  #whole = 0;
  #discards = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(text: string) {
    this.#text = text;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    this.ended = promise;
    this.#settle = { resolve, reject };
  }

  /** The next bytes; `undefined` at the end. */
  async take(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#whole > 0) return this.#swap();
      if (this.#failure !== undefined) throw this.#failure;
      if (this.over) return undefined;
      this.#wire?.stream.resume();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Ignores the remaining rows, so that the end of the statement is seen. */
  discard(): void {
    this.#discards = true;
    this.#wire?.stream.resume();
  }

  submit(wire: Wire): void {
    this.#wire = wire;
    const { stream } = wire;
    const [parser] = stream.listeners('data') as OnData[];
    if (parser === undefined) throw new Error('cannot happen: nobody reads the connection');
    this.#parser = parser;
    stream.off('data', parser);
    stream.on('data', this.#onData);
    stream.on(BYTES, this.#onData);
    wire.query(this.#text);
  }

  handleError(error: unknown): void {
    this.#detach();
    this.#failure = error;
    this.over = true;
    this.#settle.reject(error);
    this.#wake?.();
  }

  handleReadyForQuery(): void {
    this.over = true;
    this.#settle.resolve();
    this.#wake?.();
  }

  handleCommandComplete(): void {}

  readonly #onData = (chunk: Buffer): void => {
    this.#append(chunk);
    const rest = this.#walk();
    if (this.#discards) this.#swap();
    if (rest !== undefined) this.#handBack(rest);
    else if (this.#whole >= HIGH_WATER) this.#wire?.stream.pause();
    if (this.#whole > 0 || rest !== undefined) this.#wake?.();
  };

  #append(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  /**
   * Consumes complete messages. Returns the bytes from the first message on that the client itself
   * must handle.
   */
  #walk(): Buffer | undefined {
    const buffer = this.#buffer;
    while (this.#length - this.#whole >= FRAME_HEAD) {
      const kind = buffer[this.#whole] ?? 0;
      if (kind !== COPY_DATA && !PASSED_OVER.has(kind)) {
        const rest = Buffer.from(buffer.subarray(this.#whole, this.#length));
        this.#length = this.#whole;
        return rest;
      }
      const end = frameEnd(buffer, this.#whole);
      if (end > this.#length) return undefined;
      if (kind === COPY_DATA) {
        this.#whole = end;
      } else {
        buffer.copyWithin(this.#whole, end, this.#length);
        this.#length -= end - this.#whole;
      }
    }
    return undefined;
  }

  /**
   * Returns the complete messages and continues with the other buffer; an incomplete message is
   * moved there.
   */
  #swap(): Buffer {
    const [full, whole, length] = [this.#buffer, this.#whole, this.#length];
    const next =
      this.#spare.length >= length - whole ? this.#spare : Buffer.allocUnsafeSlow(length - whole);
    full.copy(next, 0, whole, length);
    // A buffer that grew for one large row is not kept.
    this.#spare = full.length > HIGH_WATER * 4 ? Buffer.allocUnsafeSlow(HIGH_WATER) : full;
    this.#buffer = next;
    this.#length = length - whole;
    this.#whole = 0;
    this.#wire?.stream.resume();
    return full.subarray(0, whole);
  }

  #handBack(rest: Buffer): void {
    const parser = this.#parser;
    this.#detach();
    parser?.(rest);
  }

  #detach(): void {
    if (this.#wire === undefined || this.#parser === undefined) return;
    this.#wire.stream.off('data', this.#onData);
    this.#wire.stream.off(BYTES, this.#onData);
    this.#wire.stream.on('data', this.#parser);
    this.#parser = undefined;
    this.#wire.stream.resume();
  }
}
