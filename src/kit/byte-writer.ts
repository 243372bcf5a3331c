/**
 * A block of bytes with a function that gives its memory back. If it is not called, the block stays
 * with the receiver.
 */
export interface TakenBytes {
  readonly bytes: Uint8Array;
  readonly release: () => void;
}

/** How many buffers are kept for reuse: one is filled while another is on its way to the sink. */
const SPARE_BUFFERS = 2;
/**
 * Enough for the largest page and what is written from it. Larger buffers are rare and are not
 * kept.
 */
const SPARE_BYTES = 16 * 1024 * 1024;
const MIN_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);

/** Collects bytes in buffers that are reused when they are given back. */
export class ByteWriter {
  bytes = Buffer.allocUnsafeSlow(MIN_BYTES);
  length = 0;
  #spare: Buffer<ArrayBuffer>[] = [];

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

  /** Returns what was written and starts a new buffer of the same size. */
  take(): TakenBytes {
    const taken = this.bytes;
    const bytes = taken.subarray(0, this.length);
    this.#renew(taken.length);
    return { bytes, release: () => this.#keep(taken) };
  }

  /**
   * Like `take`, for a receiver that continues to write. When the buffer is given back, late
   * readers find no bytes.
   */
  split(): { readonly writer: ByteWriter; readonly release: () => void } {
    const writer = new ByteWriter(this);
    this.#renew(writer.bytes.length);
    const release = (): void => {
      this.#keep(writer.bytes);
      writer.bytes = NOTHING;
      writer.length = 0;
    };
    return { writer, release };
  }

  /** Continues after bytes that were already written. */
  constructor(taken?: Pick<ByteWriter, 'bytes' | 'length'>) {
    if (taken === undefined) return;
    this.bytes = taken.bytes;
    this.length = taken.length;
  }

  #renew(size: number): void {
    this.bytes = this.#spare.pop() ?? Buffer.allocUnsafeSlow(Math.min(size, SPARE_BYTES));
    this.length = 0;
  }

  #keep(buffer: Buffer<ArrayBuffer>): void {
    if (this.#spare.length < SPARE_BUFFERS && buffer.length <= SPARE_BYTES)
      this.#spare.push(buffer);
  }
}
