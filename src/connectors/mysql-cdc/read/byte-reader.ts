/** Reads numbers and texts of the binary log, which has the lowest byte first. */

const NULL_LENGTH = 0xfb;
const TWO_BYTES = 0xfc;
const THREE_BYTES = 0xfd;
const TWO_TO_32 = 4_294_967_296;
/** Of 48 bits, more than that are not read one by one. */
const BYTES_OF_ID = 6;

/** Reading beyond the end throws a `RangeError`. */
export class ByteReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  skip(count: number): void {
    this.at += count;
    if (this.at > this.bytes.length) throw new RangeError('beyond the end of the event');
  }

  /** A number of up to six bytes. */
  uint(size: number): number {
    const value = size === 1 ? this.bytes.readUInt8(this.at) : this.bytes.readUIntLE(this.at, size);
    this.at += size;
    return value;
  }

  /** One of eight bytes, which is a bigint where no double holds it. */
  uint64(): number | bigint {
    const high = this.bytes.readUInt32LE(this.at + 4);
    const value = high * TWO_TO_32 + this.bytes.readUInt32LE(this.at);
    const exact = Number.isSafeInteger(value) ? value : this.bytes.readBigUInt64LE(this.at);
    this.at += 8;
    return exact;
  }

  int64(): number | bigint {
    const high = this.bytes.readInt32LE(this.at + 4);
    const value = high * TWO_TO_32 + this.bytes.readUInt32LE(this.at);
    const exact = Number.isSafeInteger(value) ? value : this.bytes.readBigInt64LE(this.at);
    this.at += 8;
    return exact;
  }

  id(): number {
    return this.uint(BYTES_OF_ID);
  }

  /** A length that takes one byte where it is small. */
  length(): number {
    const first = this.uint(1);
    if (first < NULL_LENGTH) return first;
    if (first === TWO_BYTES) return this.uint(2);
    if (first === THREE_BYTES) return this.uint(3);
    return Number(this.uint64());
  }

  /** A view of the next bytes. */
  take(count: number): Buffer {
    const from = this.at;
    this.skip(count);
    return this.bytes.subarray(from, this.at);
  }

  text(count: number): string {
    const from = this.at;
    this.skip(count);
    return this.bytes.toString('utf8', from, this.at);
  }

  rest(): Buffer {
    return this.take(this.left);
  }
}
