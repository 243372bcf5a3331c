/**
 * LZ4 blocks (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md): sequences of a token,
 * literals, and a copy of earlier bytes. Greedy, with one candidate per hash of four bytes.
 */

const MIN_MATCH = 4;
/**
 * The last match starts at least 12 bytes before the end, the last five bytes are always literals.
 */
const END_MARGIN = 12;
const LAST_LITERALS = 5;
const MAX_OFFSET = 65_535;
const HASH_BITS = 14;

export function lz4Block(input: Uint8Array): Uint8Array {
  const output = new Uint8Array(input.length + Math.ceil(input.length / 255) + 16);
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const seen = new Int32Array(1 << HASH_BITS).fill(-1);
  const cursor = { at: 0 };
  let anchor = 0;
  let at = 0;
  while (at + END_MARGIN <= input.length) {
    const word = view.getUint32(at, true);
    const slot = Math.imul(word, 2_654_435_761) >>> (32 - HASH_BITS);
    const candidate = seen[slot] ?? -1;
    seen[slot] = at;
    if (
      candidate === -1 ||
      at - candidate > MAX_OFFSET ||
      view.getUint32(candidate, true) !== word
    ) {
      at += 1;
      continue;
    }
    const length = matchLength(input, candidate, at);
    sequence(output, cursor, {
      literals: input.subarray(anchor, at),
      offset: at - candidate,
      length,
    });
    at += length;
    anchor = at;
  }
  sequence(output, cursor, { literals: input.subarray(anchor), offset: 0, length: 0 });
  return output.subarray(0, cursor.at);
}

function matchLength(input: Uint8Array, from: number, at: number): number {
  const limit = input.length - LAST_LITERALS;
  let length = MIN_MATCH;
  while (at + length < limit && input[from + length] === input[at + length]) length += 1;
  return length;
}

interface Sequence {
  readonly literals: Uint8Array;
  /** 0 in the last sequence, which has no copy. */
  readonly offset: number;
  readonly length: number;
}

function sequence(
  output: Uint8Array,
  cursor: { at: number },
  { literals, offset, length }: Sequence,
): void {
  const copied = offset === 0 ? 0 : length - MIN_MATCH;
  output[cursor.at] = (Math.min(literals.length, 15) << 4) | Math.min(copied, 15);
  cursor.at += 1;
  extend(output, cursor, literals.length);
  output.set(literals, cursor.at);
  cursor.at += literals.length;
  if (offset === 0) return;
  output[cursor.at] = offset & 0xff;
  output[cursor.at + 1] = offset >> 8;
  cursor.at += 2;
  extend(output, cursor, copied);
}

/** Writes the rest of a length that does not fit the token (15 or more). */
function extend(output: Uint8Array, cursor: { at: number }, length: number): void {
  if (length < 15) return;
  let rest = length - 15;
  for (; rest >= 255; rest -= 255) {
    output[cursor.at] = 255;
    cursor.at += 1;
  }
  output[cursor.at] = rest;
  cursor.at += 1;
}
