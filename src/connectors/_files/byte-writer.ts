/** Bytes that are written one after the other; whoever takes them owns them. */
export class ByteWriter {
  bytes: Buffer<ArrayBuffer>;
  length = 0;
  #capacity: number;

  constructor(capacity = 16 * 1024) {
    this.#capacity = capacity;
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Makes room for `size` more bytes. */
  ensure(size: number): void {
    const wanted = this.length + size;
    if (wanted <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  append(bytes: Uint8Array): void {
    this.ensure(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Hands over what was written and starts anew, with room for as much again. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.length);
    this.#capacity = Math.max(this.#capacity, this.length);
    this.bytes = Buffer.allocUnsafeSlow(this.#capacity);
    this.length = 0;
    return taken;
  }
}
