/** Packets of Oracle's network layer (TNS): what carries the messages. */
import type { Socket } from 'node:net';
import { Bytes } from './bytes.ts';

export const PACKET = { connect: 1, accept: 2, refuse: 4, data: 6, marker: 12 };
export const MARK = { break: 1, reset: 2, interrupt: 3 };
const VERSION = 319;
const HEAD = 8;
const DATA_HEAD = 10;
/** Bytes of a packet, as the client asks for them. */
export const UNIT_BYTES = 8192;
const NO_ADDITIONAL_SERVICES = 8;
const CONNECT_LENGTH_AT = 24;
const ENDS = 0x40;

export interface Packet {
  readonly type: number;
  readonly body: Buffer;
  /** It is as large as a packet can be: the message may go on in the next one. */
  readonly isFull: boolean;
  /** The client closes the connection. */
  readonly isLast: boolean;
}

/** Cuts what arrives into packets. Before a connection is accepted, lengths have two bytes. */
export class Packets {
  readonly #socket: Socket;
  #input = Buffer.alloc(0);
  #isAccepted = false;

  constructor(socket: Socket, take: (packet: Packet) => void) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      for (let packet = this.#next(); packet !== undefined; packet = this.#next()) take(packet);
    });
  }

  #next(): Packet | undefined {
    if (this.#input.length < HEAD) return undefined;
    const size = this.#isAccepted ? this.#input.readUInt32BE() : this.#input.readUInt16BE();
    if (this.#input.length < size) return undefined;
    const packet = this.#input.subarray(0, size);
    this.#input = this.#input.subarray(size);
    const type = packet[4] ?? 0;
    const isData = type === PACKET.data;
    return {
      type,
      body: packet.subarray(isData ? DATA_HEAD : HEAD),
      isFull: size >= UNIT_BYTES,
      isLast: isData && (packet.readUInt16BE(HEAD) & ENDS) !== 0,
    };
  }

  accept(): void {
    this.#send(
      PACKET.accept,
      new Bytes()
        .u16(VERSION)
        .u16(1)
        .u16(UNIT_BYTES)
        .u16(0xffff)
        .u16(1)
        .u16(0)
        .u16(0)
        .u8(NO_ADDITIONAL_SERVICES)
        .u8(NO_ADDITIONAL_SERVICES)
        .raw(Buffer.alloc(8))
        .u16(0)
        .u16(UNIT_BYTES)
        .u16(0x20)
        .u16(0)
        .u8(0)
        .u16(0)
        .u16(0)
        .done(),
    );
    this.#isAccepted = true;
  }

  refuse(error: number): void {
    const why = Buffer.from(`(DESCRIPTION=(ERR=${error})(VSNNUM=0))`);
    this.#send(PACKET.refuse, new Bytes().u8(0).u8(0).u16(why.length).raw(why).done());
  }

  mark(kind: number): void {
    this.#send(PACKET.marker, Buffer.of(1, 0, kind));
  }

  /** A message, in as many packets as it needs. */
  message(bytes: Buffer): void {
    const room = UNIT_BYTES - DATA_HEAD;
    for (let from = 0; from === 0 || from < bytes.length; from += room)
      this.#send(PACKET.data, Buffer.concat([Buffer.alloc(2), bytes.subarray(from, from + room)]));
  }

  #send(type: number, body: Buffer): void {
    const head = Buffer.alloc(HEAD);
    const size = HEAD + body.length;
    if (this.#isAccepted) head.writeUInt32BE(size);
    else head.writeUInt16BE(size);
    head[4] = type;
    if (this.#socket.writable) this.#socket.write(Buffer.concat([head, body]));
  }
}

/** The service that a client asks for; `undefined` while the text of that is still to come. */
export function serviceIn(connect: Buffer): { readonly name?: string } | undefined {
  const length = connect.readUInt16BE(CONNECT_LENGTH_AT - HEAD);
  const text = connect.subarray(connect.length - length).toString();
  if (!text.startsWith('(')) return undefined;
  const [, name] = /\((?:SERVICE_NAME|SID)=([^)]*)\)/i.exec(text) ?? [];
  return name === undefined ? {} : { name };
}
