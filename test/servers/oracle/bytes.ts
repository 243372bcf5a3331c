/** The fields of which messages between a client and an Oracle database (TTC) consist. */

const LONGEST_SHORT = 252;
const IN_CHUNKS = 254;
const NO_BYTES = 255;
const CHUNK_BYTES = 32_767;

/** Writes them. */
export class Bytes {
  readonly #parts: Buffer[] = [];

  u8(value: number): this {
    return this.raw(Buffer.of(value & 0xff));
  }

  u16(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16BE(value);
    return this.raw(bytes);
  }

  u16le(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16LE(value);
    return this.raw(bytes);
  }

  /** A whole number with as many bytes as it needs, and their number before them. */
  whole(value: number): this {
    if (value === 0) return this.u8(0);
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(Math.abs(value)));
    const start = bytes.findIndex((byte) => byte !== 0);
    return this.u8((8 - start) | (value < 0 ? 0x80 : 0)).raw(bytes.subarray(start));
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  /** Bytes with their length before them; null has none. */
  sized(bytes: Buffer | null): this {
    if (bytes === null || bytes.length === 0) return this.u8(0);
    if (bytes.length <= LONGEST_SHORT) return this.u8(bytes.length).raw(bytes);
    this.u8(IN_CHUNKS);
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
      const chunk = bytes.subarray(from, from + CHUNK_BYTES);
      this.whole(chunk.length).raw(chunk);
    }
    return this.whole(0);
  }

  /** A text with its length in bytes, and once more as part of the text. */
  named(text: string): this {
    const bytes = Buffer.from(text);
    this.whole(bytes.length);
    return bytes.length === 0 ? this : this.sized(bytes);
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** A message is not there as a whole. */
export class MoreNeeded extends Error {}

/** Reads them. */
export class Reader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  take(size: number): Buffer {
    if (this.left < size) throw new MoreNeeded('a message ends too early');
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  u8(): number {
    return this.take(1).readUInt8();
  }

  u16(): number {
    return this.take(2).readUInt16BE();
  }

  whole(): number {
    const head = this.u8();
    const size = head & 0x7f;
    if (size === 0) return 0;
    if (size > 8) throw new Error(`a whole number of ${size} bytes`);
    const value = Number(`0x${this.take(size).toString('hex')}`);
    return (head & 0x80) === 0 ? value : -value;
  }

  sized(): Buffer | null {
    const size = this.u8();
    if (size === 0 || size === NO_BYTES) return null;
    if (size !== IN_CHUNKS) return this.take(size);
    const chunks: Buffer[] = [];
    for (;;) {
      const length = this.whole();
      if (length === 0) return Buffer.concat(chunks);
      chunks.push(this.take(length));
    }
  }

  /** A key and its value, of those with which a client logs in. */
  pair(): readonly [key: string, value: string] {
    const part = (): string => (this.whole() === 0 ? '' : (this.sized()?.toString() ?? ''));
    const pair = [part(), part()] as const;
    this.whole();
    return pair;
  }
}
