import type { SpareBuffers } from './spare-buffers.ts';

const LINE_FEED = 0x0a;
/** A part in which no end of a row is found grows no larger than this many times its size. */
const MOST_GROWTH = 16;

export interface CutOptions {
  /** Bytes of a part, about. */
  readonly size: number;
  readonly quote: number;
  readonly spare: SpareBuffers;
}

/**
 * Cuts a stream of delimited text into parts, each after a line feed that seems to end a row: any, where the first part has none inside
 * quotes, otherwise one with pairs of quotes before it. That is a guess: whoever reads a part must find that it ends with a row, and by
 * that knows where the next starts.
 */
export async function* cutRows(blocks: AsyncIterable<Uint8Array>, options: CutOptions): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { size, quote, spare } = options;
  let part = spare.take(size);
  let length = 0;
  let countsQuotes: boolean | undefined;
  const continueIn = (buffer: Buffer<ArrayBuffer>, from: number): void => {
    part.copy(buffer, 0, from, length);
    part = buffer;
    length -= from;
  };
  for await (const block of blocks) {
    if (length + block.length > part.length) {
      const whole = part.subarray(0, length);
      countsQuotes ??= hasQuotedFeed(whole, quote);
      const cut = length < size / 2 ? 0 : countsQuotes ? rowEnd(whole, quote) : whole.lastIndexOf(LINE_FEED) + 1;
      const done = part.subarray(0, cut);
      continueIn(spare.take(Math.max(size, (length - cut) * (cut === 0 ? 2 : 1) + block.length)), cut);
      if (cut > 0) yield done;
    }
    part.set(block, length);
    length += block.length;
    if (length <= size * MOST_GROWTH) continue;
    yield part.subarray(0, length);
    part = spare.take(size);
    length = 0;
  }
  if (length === 0) return;
  if (part[length - 1] !== LINE_FEED) {
    // The last row needs no line end of its own.
    if (length === part.length) continueIn(spare.take(length + 1), 0);
    part[length] = LINE_FEED;
    length += 1;
  }
  yield part.subarray(0, length);
}

/** Whether a line feed stands behind an odd number of quotes. */
function hasQuotedFeed(bytes: Buffer, quote: number): boolean {
  let quoted = false;
  for (const byte of bytes) {
    if (byte === quote) quoted = !quoted;
    else if (quoted && byte === LINE_FEED) return true;
  }
  return false;
}

/** Behind the last line feed with an even number of quotes before it; 0 when there is none. */
function rowEnd(bytes: Buffer, quote: number): number {
  let odd = hasOddCount(bytes, quote);
  for (let end = bytes.length; end > 0;) {
    const feed = bytes.lastIndexOf(LINE_FEED, end - 1);
    if (feed === -1) return 0;
    for (let at = feed; at < end; at += 1) if (bytes[at] === quote) odd = !odd;
    if (!odd) return feed + 1;
    end = feed;
  }
  return 0;
}

/** Each byte of a word without its highest bit. */
const LOW_BITS = 0x7f7f7f7f;

/** Whether a byte stands in the bytes an odd number of times; four are looked at in one step. */
function hasOddCount(bytes: Buffer, byte: number): boolean {
  const four = byte * 0x01010101;
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length - (bytes.length % 4);
  let found = 0;
  for (let at = 0; at < whole; at += 4) {
    const other = words.getInt32(at, true) ^ four;
    // The highest bit of each byte that is the one looked for, and no other bit.
    found ^= ~(((other & LOW_BITS) + LOW_BITS) | other | LOW_BITS);
  }
  for (let at = whole; at < bytes.length; at += 1) if (bytes[at] === byte) found ^= 1;
  found ^= found >>> 16;
  found ^= found >>> 8;
  return ((found ^ (found >>> 7)) & 1) === 1;
}
