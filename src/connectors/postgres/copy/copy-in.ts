/** `COPY … FROM STDIN` as one stream, which may continue for many pages. */
import type { Socket } from 'node:net';
import type { ClientBase, Submittable } from 'pg';

const COPY_DATA = 100;
const COPY_DONE = Buffer.from([99, 0, 0, 0, 4]);
const COPY_FAIL = Buffer.from([102, 0, 0, 0, 5, 0]);
/** The server holds a whole message in memory. */
const MESSAGE_BYTES = 256 * 1024;

interface Wire {
  readonly stream: Socket;
  query(sql: string): void;
}

/** Writes directly to the socket. An error of the statement is thrown by the next call. */
export class CopyIn {
  /** Rows that were sent, and those of them before the page at hand. */
  rows = 0;
  rowsBefore = 0;
  readonly #text: string;
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #stream: Socket | undefined;
  #failure: { readonly error: unknown } | undefined;
  #onFailure: ((error: unknown) => void) | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#ready.promise.catch(() => {});
    this.#ended.promise.catch(() => {});
  }

  static async start(client: ClientBase, text: string): Promise<CopyIn> {
    const copy = new CopyIn(text);
    // The client's types do not show the socket below a connection.
    client.query(copy as unknown as Submittable);
    await copy.#ready.promise;
    return copy;
  }

  /** Sends rows; the bytes may be reused when the promise is fulfilled. */
  async write(bytes: Uint8Array): Promise<void> {
    const stream = this.#open();
    for (let from = 0; from < bytes.length; from += MESSAGE_BYTES) {
      const part = bytes.subarray(from, from + MESSAGE_BYTES);
      const head = Buffer.allocUnsafe(5);
      head[0] = COPY_DATA;
      head.writeUInt32BE(part.length + 4, 1);
      stream.write(head);
      if (from + MESSAGE_BYTES < bytes.length) stream.write(part);
      else await this.#taken(part);
    }
  }

  /** Sends bytes that already are protocol messages. */
  async writeMessages(messages: Uint8Array): Promise<void> {
    this.#open();
    if (messages.length > 0) await this.#taken(messages);
  }

  async end(): Promise<void> {
    this.#open().write(COPY_DONE);
    await this.#ended.promise;
  }

  /** Aborts the statement; nothing it wrote remains. */
  async fail(): Promise<void> {
    if (this.#failure === undefined) this.#stream?.write(COPY_FAIL);
    await this.#ended.promise.catch(() => {});
  }

  /** Rows of a page follow. */
  beginPage(rows: number): void {
    this.rowsBefore = this.rows;
    this.rows += rows;
  }

  submit(wire: Wire): void {
    this.#stream = wire.stream;
    wire.query(this.#text);
  }

  handleCopyInResponse(): void {
    this.#ready.resolve();
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#ended.resolve();
  }

  handleError(error: unknown): void {
    this.#failure = { error };
    this.#ready.reject(error);
    this.#ended.reject(error);
    this.#onFailure?.(error);
  }

  #open(): Socket {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#stream === undefined) throw new Error('cannot happen: the statement was not sent');
    return this.#stream;
  }

  /**
   * Fulfilled when the system has accepted the bytes, so that a slow server slows the writer down.
   */
  #taken(bytes: Uint8Array): Promise<void> {
    const stream = this.#open();
    return new Promise<void>((resolve, reject) => {
      this.#onFailure = reject;
      stream.write(bytes, (error) => {
        this.#onFailure = undefined;
        if (error === null || error === undefined) resolve();
        else reject(error);
      });
    });
  }
}
