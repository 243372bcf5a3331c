/**
 * `COPY … TO STDOUT` without an object a row. The protocol puts every row into a message of its own
 * (one byte of kind, four of length, the row); messages stay as they come off the socket, and who
 * reads them walks from one to the next.
 */
import type { Socket } from 'node:net';
import type { Submittable } from 'pg';
import { ConnectorError } from '../../../lib/errors.ts';
import { BYTES, cancelStatement } from '../../../lib/sql/postgres.ts';
import type { Connection } from '../read/connection.ts';

/** When this much is waiting, the server has to wait too. */
const HIGH_WATER = 512 * 1024;
/** One byte of kind and four of length, before every row. */
export const FRAME_HEAD = 5;
const COPY_DATA = 100;
/**
 * CopyOutResponse, and what may be told at any time: ParameterStatus, NoticeResponse,
 * NotificationResponse.
 */
const PASSED_OVER = new Set([72, 83, 78, 65]);

/** Where the message at `at` ends. */
export function frameEnd(frames: Buffer, at: number): number {
  // Byte by byte: this is asked of every row, and no message is as long as 2 GiB.
  return (
    at +
    1 +
    (((frames[at + 1] as number) << 24) |
      ((frames[at + 2] as number) << 16) |
      ((frames[at + 3] as number) << 8) |
      (frames[at + 4] as number))
  );
}

interface Wire {
  readonly stream: Socket;
  query(sql: string): void;
}

type OnData = (bytes: Buffer) => void;

/**
 * The rows of a COPY as chunks of whole messages. A chunk is valid until the next one is asked for.
 * The statement is cancelled on the server when the consumer leaves or the signal fires.
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

async function withinSecs<T>(work: Promise<T>, secs: number): Promise<T> {
  if (secs === 0) return work;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new ConnectorError('timeout', `no rows came for ${secs} seconds`, {
          hint: 'raise `read_timeout_secs`',
        }),
      ),
    secs * 1000,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

class CopyOut {
  /**
   * Settles when the server is done with the statement, one way or the other; never rejects by
   * itself unobserved.
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
  /** Bytes of `#buffer` that are whole messages. */
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

  /** Throws away what still comes, so that the end of the statement is seen. */
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
   * Passes the messages that came whole; gives back what is the client's to understand, once such a
   * message starts.
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
   * Hands the whole messages out and goes on in the other buffer; a started message moves along.
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
