/** The log as the server sends it: one connection, from a position on, until it is closed. */
import type { Socket } from 'node:net';
import type { Connection } from 'mysql2';
import { ConnectorError } from '../../../lib/errors.ts';
import { mysqlError } from '../../../lib/sql/mysql-errors.ts';
import { encodeMysqlSet, type GtidSet } from './gtid-set.ts';
import { FIRST_POS, type BinlogPosition } from './position.ts';

/** How often the server says that it is there when nothing changes. */
export const HEARTBEAT_SECONDS = 10;
/** A server that says nothing for so many of them is gone. */
const MISSED = 3;

/**
 * Events keep their checksums, and come in the form of MariaDB where that is the server. A slow sink
 * may leave the connection alone for long. Both names of what a reader tells are set, because newer
 * servers of MySQL have another one.
 */
export const DUMPING: readonly string[] = [
  ...['master', 'source'].flatMap((name) => [
    `SET @${name}_binlog_checksum = @@GLOBAL.binlog_checksum`,
    `SET @${name}_heartbeat_period = ${HEARTBEAT_SECONDS}000000000`,
  ]),
  'SET @mariadb_slave_capability = 4',
  'SET net_write_timeout = 31536000',
];

const COMMAND = { dump: 0x12, dumpGtid: 0x1e } as const;
const [EVENT, END, FAILED] = [0x00, 0xfe, 0xff];
const PACKET_HEAD = 4;
const LONGEST_END = 9;

/** A packet of the client, while it is handled. */
interface Packet {
  readonly buffer: Buffer;
  readonly offset: number;
  readonly end: number;
  asError(encoding: string): Error;
}

/** What the client of MySQL has, and its types do not say. */
interface Wire {
  readonly stream: Socket;
  addCommand(command: unknown): void;
  writePacket(packet: unknown): void;
  _resetSequenceId(): void;
}

export interface DumpOptions {
  readonly connection: Connection;
  readonly serverId: number;
  readonly from: BinlogPosition | GtidSet;
  /** Bytes that wait here to be read, at most; more stay with the server. */
  readonly bound: number;
  /** Whether it ends where the log does. */
  readonly endsWithLog?: boolean;
}

export class DumpStream {
  readonly #connection: Connection;
  readonly #wire: Wire;
  readonly #bound: number;
  /** What is being taken, from `#next` on, and what came since. */
  #taking: Buffer[] = [];
  #next = 0;
  #arrived: Buffer[] = [];
  #bytes = 0;
  #isPaused = false;
  #end: ConnectorError | undefined;
  #hasEnded = false;
  #wake = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ connection, bound, ...request }: DumpOptions) {
    this.#connection = connection;
    this.#wire = connection as unknown as Wire;
    this.#bound = bound;
    connection.on('error', (error: unknown) => this.#fail(logError(error)));
    this.#wire.addCommand({
      execute: (packet: Packet | undefined) => {
        if (packet === undefined) this.#ask(request);
        else this.#receive(packet);
        return false;
      },
      onResult: (error: unknown) => this.#fail(logError(error)),
    });
    // Parts of a large event are a sign of life, too.
    this.#wire.stream.on('data', () => this.#timer?.refresh());
    this.#expect();
  }

  /** Whether events wait to be read. */
  get hasEvents(): boolean {
    return this.#bytes > 0;
  }

  /** The next event that is here. Throws once the connection has ended and all were taken. */
  take(): Buffer | undefined {
    if (this.#next === this.#taking.length) {
      this.#taking = this.#arrived;
      this.#arrived = [];
      this.#next = 0;
    }
    const event = this.#taking[this.#next];
    if (event === undefined) {
      if (this.#end !== undefined) throw this.#end;
      return undefined;
    }
    this.#next += 1;
    this.#bytes -= event.length;
    if (this.#isPaused && this.#bytes <= this.#bound / 2) {
      this.#isPaused = false;
      this.#wire.stream.resume();
      this.#expect();
    }
    return event;
  }

  /** Resolves when there may be something to take. */
  arrival(): Promise<void> {
    const isHere = this.#next < this.#taking.length || this.#arrived.length > 0;
    if (isHere || this.#end !== undefined) return Promise.resolve();
    this.#wake = Promise.withResolvers();
    return this.#wake.promise;
  }

  /** Whether the server has said that there is no more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  close(): void {
    this.#fail(new ConnectorError('connection', 'the connection was closed'));
    this.#taking = [];
    this.#arrived = [];
    this.#next = 0;
    this.#bytes = 0;
    this.#connection.destroy();
  }

  #ask(request: Omit<DumpOptions, 'connection' | 'bound'>): void {
    this.#wire._resetSequenceId();
    const body = commandOf(request);
    const buffer = Buffer.concat([Buffer.alloc(PACKET_HEAD), body]);
    this.#wire.writePacket({
      buffer,
      length: () => buffer.length,
      writeHeader(sequence: number) {
        buffer.writeUIntLE(body.length, 0, 3);
        buffer[3] = sequence;
      },
    });
  }

  #receive(packet: Packet): void {
    if (this.#end !== undefined) return;
    const { buffer, offset, end } = packet;
    const kind = buffer[offset];
    if (kind === FAILED) return this.#fail(logError(packet.asError('utf8')));
    if (kind === END && end - offset < LONGEST_END) {
      this.#hasEnded = true;
      return this.#fail(new ConnectorError('connection', 'the server has ended its log'));
    }
    if (kind !== EVENT)
      return this.#fail(new ConnectorError('data', 'the server sends what is no event of its log'));
    this.#arrived.push(buffer.subarray(offset + 1, end));
    this.#bytes += end - offset - 1;
    this.#wake.resolve();
    if (this.#bytes >= this.#bound && !this.#isPaused) {
      this.#isPaused = true;
      this.#wire.stream.pause();
    }
    this.#expect();
  }

  /** Silence is not a sign of a broken connection where this side does not read. */
  #expect(): void {
    clearTimeout(this.#timer);
    if (this.#isPaused || this.#end !== undefined) return;
    this.#timer = setTimeout(
      () => {
        const message = `the server said nothing for ${MISSED * HEARTBEAT_SECONDS} seconds`;
        this.#fail(new ConnectorError('timeout', message));
        this.#connection.destroy();
      },
      MISSED * HEARTBEAT_SECONDS * 1000,
    );
    this.#timer.unref();
  }

  #fail(error: ConnectorError): void {
    this.#end ??= error;
    clearTimeout(this.#timer);
    this.#wake.resolve();
  }
}

const ENDS_WITH_LOG = 1;
const THROUGH_GTID = 4;

/** MariaDB is told of its transactions by a variable of the session, and asked without a file. */
function commandOf({
  serverId,
  from,
  endsWithLog = false,
}: Omit<DumpOptions, 'connection' | 'bound'>): Buffer {
  const flags = endsWithLog ? ENDS_WITH_LOG : 0;
  if ('kind' in from && from.kind === 'mysql')
    return gtidCommand(serverId, flags, encodeMysqlSet(from.ranges));
  const { file, pos } = 'kind' in from ? { file: '', pos: FIRST_POS } : from;
  const head = Buffer.alloc(11);
  head[0] = COMMAND.dump;
  head.writeUInt32LE(pos, 1);
  head.writeUInt16LE(flags, 5);
  head.writeUInt32LE(serverId, 7);
  return Buffer.concat([head, Buffer.from(file)]);
}

function gtidCommand(serverId: number, flags: number, set: Buffer): Buffer {
  const head = Buffer.alloc(23);
  head[0] = COMMAND.dumpGtid;
  head.writeUInt16LE(flags | THROUGH_GTID, 1);
  head.writeUInt32LE(serverId, 3);
  // No name of a file, and its first position.
  head.writeUInt32LE(0, 7);
  head.writeBigUInt64LE(BigInt(FIRST_POS), 11);
  head.writeUInt32LE(set.length, 19);
  return Buffer.concat([head, set]);
}

const FATAL = 1236;
/** MariaDB has a number of its own for this. */
const SAME_ID = 4052;
const NO_RIGHT = 1227;

/** The server has one number for whatever keeps it from sending the log. */
export function logError(error: unknown): ConnectorError {
  const known = mysqlError(error, 'the log cannot be read');
  const { errno } = (error ?? {}) as { readonly errno?: unknown };
  if (errno === NO_RIGHT)
    return new ConnectorError('refused', `the user may not replicate: ${known.message}`, {
      cause: error,
      hint: 'GRANT REPLICATION SLAVE ON *.* TO the user of the address',
    });
  if (errno !== FATAL && errno !== SAME_ID) return known;
  const { message, cause } = known;
  const told = (kind: 'missing' | 'refused' | 'data', hint: string): ConnectorError =>
    new ConnectorError(kind, message, { cause, hint });
  if (errno === SAME_ID || /same server_(?:uu)?id/i.test(message))
    return told(
      'refused',
      'give each reader, and each replica of the server, a `server_id` of its own',
    );
  if (/max_allowed_packet/i.test(message))
    return told('refused', 'raise `max_allowed_packet` of the server');
  if (/could not find|purged|impossible position|not (?:in|found)|missing/i.test(message))
    return told(
      'missing',
      'the server has removed what comes next: remove the bookmark, and load the tables anew; `headgate replicate --restart` does both',
    );
  return told('data', 'look at the error log of the server');
}
