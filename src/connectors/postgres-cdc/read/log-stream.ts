/** The log as the server sends it: one connection, from a position on, until it is closed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Duplex } from 'node:stream';
import type { EventEmitter } from 'node:events';
import { ConnectorError } from '../../../lib/errors.ts';
import { postgresError } from '../../../lib/sql/postgres.ts';
import type { PostgresCdcConfig } from '../config.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { literal } from '../slot.ts';
import { formatLsn } from './lsn.ts';

/** What the client of PostgreSQL has, and its types do not say. */
interface Wire extends EventEmitter {
  readonly stream: Duplex;
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

const [DATA, KEEPALIVE, STATUS] = [0x77, 0x6b, 0x72];
/** In a message with data, its header: kind, position, end of the log, time. */
export const DATA_AT = 25;
const REPLY_AT = 17;
const EPOCH_MS = 946_684_800_000;
/** How long the server may take to end the connection; the next reader has to wait for that. */
const GOODBYE_MS = 500;

export interface LogStreamOptions {
  readonly client: Client;
  readonly config: PostgresCdcConfig;
  readonly from: bigint;
  /** Bytes that wait here to be read, at most; more stay with the server. */
  readonly bound: number;
}

/** A message of the log: of the transaction log, or how far the server has sent it. */
export type LogMessage =
  | { readonly kind: 'data'; readonly bytes: Buffer }
  | { readonly kind: 'position'; readonly end: bigint; readonly wantsReply: boolean };

export class LogStream {
  readonly #client: Client;
  readonly #wire: Wire;
  readonly #bound: number;
  /** What is being taken, from `#next` on, and what came since. */
  #taking: LogMessage[] = [];
  #next = 0;
  #arrived: LogMessage[] = [];
  #bytes = 0;
  #isPaused = false;
  #end: ConnectorError | undefined;
  #wake = Promise.withResolvers<void>();
  #ended: Promise<void> = Promise.resolve();
  #received: bigint;
  #confirmed: bigint | undefined;

  private constructor({ client, bound, from }: LogStreamOptions) {
    this.#client = client;
    this.#wire = (client as unknown as { connection: Wire }).connection;
    this.#bound = bound;
    this.#received = from;
  }

  /** Rejects with the error of the server when it does not begin. */
  static async start(options: LogStreamOptions): Promise<LogStream> {
    const stream = new LogStream(options);
    try {
      await stream.#start(options);
      return stream;
    } catch (error) {
      stream.#wire.off('copyData', stream.#receive);
      throw error;
    }
  }

  /** Whether data waits to be read. */
  get hasData(): boolean {
    return this.#bytes > 0;
  }

  /** The next message that is here. Throws once the connection has ended and all were taken. */
  take(): LogMessage | undefined {
    if (this.#next === this.#taking.length) {
      this.#taking = this.#arrived;
      this.#arrived = [];
      this.#next = 0;
    }
    const message = this.#taking[this.#next];
    if (message === undefined) {
      if (this.#end !== undefined) throw this.#end;
      return undefined;
    }
    this.#next += 1;
    if (message.kind === 'data') this.#bytes -= message.bytes.length;
    if (this.#isPaused && this.#bytes <= this.#bound / 2) {
      this.#isPaused = false;
      this.#wire.stream.resume();
    }
    return message;
  }

  /** Resolves when there may be something to take. */
  arrival(): Promise<void> {
    const isHere = this.#next < this.#taking.length || this.#arrived.length > 0;
    if (isHere || this.#end !== undefined) return Promise.resolve();
    this.#wake = Promise.withResolvers();
    return this.#wake.promise;
  }

  /** Everything before this position is durable: the server may remove it. */
  confirm(position: bigint): void {
    this.#confirmed = position;
  }

  /** Says how far this side is, which also shows that it is alive. A reply says the same of the server. */
  sendStatus({ wantsReply = false } = {}): void {
    if (this.#end !== undefined || !this.#wire.stream.writable) return;
    const status = Buffer.alloc(34);
    status[0] = STATUS;
    status.writeBigUInt64BE(this.#received, 1);
    // Zero says nothing.
    status.writeBigUInt64BE(this.#confirmed ?? 0n, 9);
    status.writeBigUInt64BE(this.#confirmed ?? 0n, 17);
    status.writeBigInt64BE(BigInt(Math.round((Date.now() - EPOCH_MS) * 1000)), 25);
    status[33] = wantsReply ? 1 : 0;
    this.#wire.sendCopyFromChunk(status);
  }

  async close(): Promise<void> {
    this.#fail(new ConnectorError('connection', 'the connection was closed'));
    this.#taking = [];
    this.#arrived = [];
    this.#next = 0;
    this.#bytes = 0;
    const { stream } = this.#wire;
    if (stream.writable) {
      // The server then frees the slot for the next reader.
      this.#wire.endCopyFrom();
      stream.resume();
      await Promise.race([this.#ended, sleep(GOODBYE_MS)]);
    }
    await Promise.race([this.#client.end().catch(() => {}), sleep(GOODBYE_MS)]);
    stream.destroy();
  }

  async #start({ config, from }: LogStreamOptions): Promise<void> {
    const { slot_name: slot, publication_name: publication, proto_version: version } = config;
    const names = literal(quoteName(publication));
    const sql = `START_REPLICATION SLOT ${quoteName(slot)} LOGICAL ${formatLsn(from)} (proto_version '${version}', publication_names ${names})`;
    const started = Promise.withResolvers<void>();
    this.#wire.once('replicationStart', started.resolve);
    this.#wire.on('copyData', this.#receive);
    const streaming = this.#client.query(sql).then(() => {
      throw new ConnectorError('connection', 'the server has ended the stream of changes');
    });
    this.#ended = streaming.catch((error: unknown) =>
      this.#fail(postgresError(error, 'the changes cannot be read')),
    );
    await Promise.race([started.promise, streaming]);
  }

  readonly #receive = ({ chunk }: { readonly chunk: Buffer }): void => {
    if (this.#end !== undefined) return;
    if (chunk[0] === DATA) {
      // The client uses its memory again.
      this.#push({ kind: 'data', bytes: Buffer.from(chunk) });
      this.#bytes += chunk.length;
      if (this.#bytes < this.#bound || this.#isPaused) return;
      this.#isPaused = true;
      this.#wire.stream.pause();
    } else if (chunk[0] === KEEPALIVE) {
      const end = chunk.readBigUInt64BE(1);
      const wantsReply = chunk[REPLY_AT] === 1;
      if (end > this.#received) this.#received = end;
      this.#push({ kind: 'position', end, wantsReply });
      if (wantsReply) this.sendStatus();
    }
  };

  #push(message: LogMessage): void {
    this.#arrived.push(message);
    this.#wake.resolve();
  }

  #fail(error: ConnectorError): void {
    this.#end ??= error;
    this.#wake.resolve();
  }
}
