/** Sets of row numbers in the portable format of Roaring bitmaps, which deletion vectors have. */
import { ConnectorError } from '../../../lib/errors.ts';

/** The cookies of 32-bit bitmaps without and with runs. */
const PLAIN = 12_346;
const WITH_RUNS = 12_347;
/** With fewer containers a bitmap with runs has no offsets. */
const NO_OFFSETS_BELOW = 4;
const CONTAINER_BITS = 65_536;
const MOST_ARRAY_VALUES = 4096;
const BITMAP_BYTES = CONTAINER_BITS / 8;
const KEY_STEP = 2 ** 32;

/** Adds each number of a 64-bit bitmap: bitmaps of 32 bits by the upper half of their numbers. */
export function readBitmap(bytes: Buffer, add: (value: number) => void): void {
  try {
    const reader = new Reader(bytes);
    const buckets = Number(reader.bytes.readBigUInt64LE(reader.take(8)));
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const above = reader.uint32() * KEY_STEP;
      readBucket(reader, (value) => add(above + value));
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConnectorError('data', 'a deletion vector of the table ends too early', {
      cause: error,
      hint: 'the file is damaged; restore it',
    });
  }
}

function readBucket(reader: Reader, add: (value: number) => void): void {
  const cookie = reader.uint32();
  const hasRuns = (cookie & 0xffff) === WITH_RUNS;
  if (!hasRuns && cookie !== PLAIN)
    throw new ConnectorError('data', 'a deletion vector of the table is no Roaring bitmap');
  const count = hasRuns ? (cookie >>> 16) + 1 : reader.uint32();
  const runFlags = hasRuns ? reader.take(Math.ceil(count / 8)) : 0;
  const isRun = (index: number): boolean =>
    hasRuns && ((reader.bytes[runFlags + (index >> 3)] ?? 0) & (1 << (index & 7))) !== 0;
  const containers = Array.from({ length: count }, () => {
    const key = reader.uint16();
    return { key, values: reader.uint16() + 1 };
  });
  if (!hasRuns || count >= NO_OFFSETS_BELOW) reader.take(count * 4);
  for (const [index, { key, values }] of containers.entries()) {
    const from = key * CONTAINER_BITS;
    if (isRun(index)) readRuns(reader, (value) => add(from + value));
    else if (values > MOST_ARRAY_VALUES) readBits(reader, (value) => add(from + value));
    else for (let left = values; left > 0; left -= 1) add(from + reader.uint16());
  }
}

function readRuns(reader: Reader, add: (value: number) => void): void {
  for (let left = reader.uint16(); left > 0; left -= 1) {
    const start = reader.uint16();
    const more = reader.uint16();
    for (let value = start; value <= start + more; value += 1) add(value);
  }
}

function readBits(reader: Reader, add: (value: number) => void): void {
  const start = reader.take(BITMAP_BYTES);
  for (let at = 0; at < BITMAP_BYTES; at += 1) {
    const byte = reader.bytes.readUInt8(start + at);
    for (let bit = 0; byte >> bit !== 0; bit += 1) if ((byte >> bit) & 1) add(at * 8 + bit);
  }
}

class Reader {
  readonly bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Where so many bytes begin, which are then passed over. */
  take(length: number): number {
    const at = this.#at;
    this.#at += length;
    if (this.#at > this.bytes.length) throw new RangeError('the bytes end');
    return at;
  }

  uint16(): number {
    return this.bytes.readUInt16LE(this.take(2));
  }

  uint32(): number {
    return this.bytes.readUInt32LE(this.take(4));
  }
}
