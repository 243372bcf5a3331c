/**
 * `COPY … TO STDOUT` without an object a row: the frames of the protocol (one byte of kind, four of length) are taken off the socket's
 * own chunks, and what they carry is laid end to end.
 */
import type { Socket } from 'node:net';
import type { Submittable } from 'pg';
import { ConnectorError } from '../../lib/errors.ts';
import { cancelStatement } from '../../lib/postgres.ts';
import type { Connection } from './connection.ts';

/** When this much is waiting, the server has to wait too. */
const HIGH_WATER = 512 * 1024;
const FRAME_HEAD = 5;
const COPY_OUT_RESPONSE = 72;
const COPY_DATA = 100;
/** Told at any time: ParameterStatus, NoticeResponse, NotificationResponse. */
const ASIDES = new Set([83, 78, 65]);

interface Wire {
  readonly stream: Socket;
  query(sql: string): void;
}

type OnData = (bytes: Buffer) => void;

/**
 * The rows of a COPY as chunks of whole messages; the server puts one row into a message. A chunk is valid until the next one is asked
 * for. The statement is cancelled on the server when the consumer leaves or the signal fires.
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
    () => late.reject(new ConnectorError('timeout', `no rows came for ${secs} seconds`, { hint: 'raise `read_timeout_secs`' })),
    secs * 1000,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

class CopyOut {
  /** Settles when the server is done with the statement, one way or the other; never rejects by itself unobserved. */
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
  /** Bytes of the current message that are still to come, and whether they are rows. */
  #missing = 0;
  #keeps = false;
  #head = Buffer.alloc(0);
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
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing > 0) {
        const end = Math.min(chunk.length, at + this.#missing);
        this.#append(chunk, at, end);
        this.#missing -= end - at;
        at = end;
        if (this.#missing === 0) this.#whole = this.#length;
        continue;
      }
      const rest = this.#openFrame(chunk, at);
      if (rest === undefined) return this.#handBack(at === 0 ? chunk : chunk.subarray(at));
      at = rest;
    }
    if (this.#whole === 0) return;
    if (this.#length >= HIGH_WATER && !this.#discards) this.#wire?.stream.pause();
    this.#wake?.();
  };

  /** Reads the head of a message, which may come in two chunks; `undefined` for a message that is the client's to understand. */
  #openFrame(chunk: Buffer, at: number): number | undefined {
    let [head, start, end] = [chunk, at, at + FRAME_HEAD];
    if (this.#head.length > 0 || end > chunk.length) {
      end = Math.min(chunk.length, at + FRAME_HEAD - this.#head.length);
      this.#head = Buffer.concat([this.#head, chunk.subarray(at, end)]);
      if (this.#head.length < FRAME_HEAD) return end;
      [head, start] = [this.#head, 0];
    }
    const kind = head[start] ?? 0;
    if (kind !== COPY_DATA && kind !== COPY_OUT_RESPONSE && !ASIDES.has(kind)) {
      this.#head = this.#head.subarray(0, Math.max(0, this.#head.length - (end - at)));
      return undefined;
    }
    this.#missing = head.readUInt32BE(start + 1) - (FRAME_HEAD - 1);
    this.#keeps = kind === COPY_DATA;
    if (this.#head.length > 0) this.#head = Buffer.alloc(0);
    return end;
  }

  #append(chunk: Buffer, from: number, to: number): void {
    if (!this.#keeps || this.#discards) return;
    const needed = this.#length + to - from;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(this.#buffer.length * 2, this.#length + this.#missing)));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length, from, to);
    this.#length = needed;
  }

  /** Hands the whole messages out and goes on in the other buffer; a started message moves along. */
  #swap(): Buffer {
    const [full, whole, length] = [this.#buffer, this.#whole, this.#length];
    const next = this.#spare.length >= length - whole ? this.#spare : Buffer.allocUnsafeSlow(length - whole);
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
    const bytes = Buffer.concat([this.#head, rest]);
    const parser = this.#parser;
    this.#detach();
    parser?.(bytes);
    this.#wake?.();
  }

  #detach(): void {
    if (this.#wire === undefined || this.#parser === undefined) return;
    this.#wire.stream.off('data', this.#onData);
    this.#wire.stream.on('data', this.#parser);
    this.#parser = undefined;
    this.#wire.stream.resume();
  }
}
