/** Writes the little-endian fields of which messages of TDS consist. */
export class Bytes {
  #parts: Buffer[] = [];

  u8(value: number): this {
    return this.raw(Buffer.of(value));
  }

  u16(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16LE(value);
    return this.raw(bytes);
  }

  u32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return this.raw(bytes);
  }

  i32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    return this.raw(bytes);
  }

  u64(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return this.raw(bytes);
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  /** A text with its length in letters in one byte. */
  shortText(text: string): this {
    return this.u8(text.length).raw(Buffer.from(text, 'utf16le'));
  }

  longText(text: string): this {
    return this.u16(text.length).raw(Buffer.from(text, 'utf16le'));
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Reads them. */
export class Reader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  u8(): number {
    return this.take(1).readUInt8();
  }

  u16(): number {
    return this.take(2).readUInt16LE();
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  u64(): bigint {
    return this.take(8).readBigUInt64LE();
  }

  take(size: number): Buffer {
    if (this.left < size) throw new Error('a message of TDS ends too early');
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  shortText(): string {
    return this.take(this.u8() * 2).toString('utf16le');
  }

  /** The headers before statements, which say the transaction. */
  skipHeaders(): this {
    const size = this.bytes.readUInt32LE(this.at);
    this.take(size);
    return this;
  }
}
