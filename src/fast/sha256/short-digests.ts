/** SHA-256 and HMAC-SHA256 of many short texts that lie in bytes, written as hexadecimal digits. */
import { hash } from 'node:crypto';
import { endianness } from 'node:os';
import { FIRST_STATE, sha256Module, type Sha256Exports } from './sha256-code.ts';
import { wasmApi, type WasmModule } from '../../lib/wasm/wasm-api.ts';

/** A text that fits into one block of the hash together with its padding and length. */
export const MOST_TEXT_BYTES = 55;
/** Bytes behind a text that are looked at, whatever they are. */
export const ROOM_BEHIND = 4;

const LANES = 4;
const BLOCK_BYTES = 64;
const DIGEST_WORDS = 8;
const BITS = 8;
/** The one that follows the last bit of a text. */
const END_MARK = 0x80;
const END_WORD = END_MARK << 24;
const [INNER_PAD, OUTER_PAD] = [0x36, 0x5c];

/** Places in the memory of the module, in bytes. */
const FIRST = 0;
const INNER = 128;
const OUTER = 256;
const TEXT_BLOCK = 384;
const OUTER_BLOCK = 640;
const DIGEST = 896;
/** The word of a block that holds the length of the text. */
const LENGTH_WORD = 15;

/** The two hexadecimal digits of every byte, in memory order. */
const HEX = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

let compiled: WasmModule | undefined;

/**
 * HMAC with a `key`, plain SHA-256 without; only the first `digits` (a multiple of eight) are written.
 * `undefined` on machines without WebAssembly vectors.
 */
export function shortDigests(key: string | undefined, digits: number): ShortDigests | undefined {
  if (compiled === undefined) {
    const code = sha256Module();
    // WebAssembly memory is little-endian, typed arrays have the byte order of the machine.
    if (endianness() !== 'LE' || !wasmApi.validate(code)) return undefined;
    compiled = new wasmApi.Module(code);
  }
  return new ShortDigests(compiled, key, digits);
}

/** Hashes four texts at a time: digests are complete only after `flush`. */
export class ShortDigests {
  readonly #compress: Sha256Exports['compress'];
  readonly #words: Int32Array;
  readonly #keyed: boolean;
  /** How many words of each digest are written. */
  readonly #size: number;
  readonly #places = new Uint32Array(LANES);
  #waiting = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(module: WasmModule, key: string | undefined, digits: number) {
    const { memory, compress } = new wasmApi.Instance(module, {})
      .exports as unknown as Sha256Exports;
    this.#compress = compress;
    this.#words = new Int32Array(memory.buffer);
    this.#keyed = key !== undefined;
    this.#size = digits / BITS;
    for (const [index, word] of FIRST_STATE.entries()) this.#setWord(FIRST, index, word);
    if (key !== undefined) this.#takeKey(Buffer.from(key));
  }

  /** The bytes in which texts lie and digests are written, until the next call. */
  begin(bytes: Uint8Array): void {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Hashes a text of at most `MOST_TEXT_BYTES`; the digits are written at `to`. */
  add(start: number, end: number, to: number): void {
    const words = this.#words;
    const view = this.#view;
    const first = TEXT_BLOCK / 4 + this.#waiting;
    const length = first + LENGTH_WORD * LANES;
    let word = first;
    let at = start;
    for (; at + 4 <= end; at += 4, word += LANES) words[word] = view.getInt32(at);
    const kept = (end - at) * BITS;
    words[word] =
      kept === 0 ? END_WORD : (view.getInt32(at) & (-1 << (32 - kept))) | (END_WORD >>> kept);
    for (word += LANES; word < length; word += LANES) words[word] = 0;
    words[length] = (end - start + (this.#keyed ? BLOCK_BYTES : 0)) * BITS;
    this.#places[this.#waiting] = to;
    this.#waiting += 1;
    if (this.#waiting === LANES) this.flush();
  }

  /** Writes the digests of the texts that still wait. */
  flush(): void {
    if (this.#waiting === 0) return;
    if (this.#keyed) {
      this.#compress(INNER, TEXT_BLOCK, OUTER_BLOCK);
      this.#compress(OUTER, OUTER_BLOCK, DIGEST);
    } else this.#compress(FIRST, TEXT_BLOCK, DIGEST);
    for (let lane = 0; lane < this.#waiting; lane += 1)
      this.#writeDigits(lane, this.#places[lane] as number);
    this.#waiting = 0;
  }

  #writeDigits(lane: number, to: number): void {
    const words = this.#words;
    const view = this.#view;
    for (let index = 0, at = to; index < this.#size; index += 1, at += BITS) {
      const word = words[DIGEST / 4 + index * LANES + lane] as number;
      view.setUint16(at, HEX[word >>> 24] as number, true);
      view.setUint16(at + 2, HEX[(word >>> 16) & 0xff] as number, true);
      view.setUint16(at + 4, HEX[(word >>> 8) & 0xff] as number, true);
      view.setUint16(at + 6, HEX[word & 0xff] as number, true);
    }
  }

  /**
   * Computes the inner and outer state of the key (RFC 2104) and the padding of the outer block.
   */
  #takeKey(key: Buffer): void {
    const block = Buffer.alloc(BLOCK_BYTES);
    block.set(key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key);
    for (const [pad, to] of [
      [INNER_PAD, INNER],
      [OUTER_PAD, OUTER],
    ] as const) {
      const padded = block.map((byte) => byte ^ pad);
      const view = new DataView(padded.buffer, padded.byteOffset);
      for (let index = 0; index < BLOCK_BYTES / 4; index += 1)
        this.#setWord(TEXT_BLOCK, index, view.getInt32(index * 4));
      this.#compress(FIRST, TEXT_BLOCK, to);
    }
    this.#setWord(OUTER_BLOCK, DIGEST_WORDS, END_WORD);
    this.#setWord(OUTER_BLOCK, LENGTH_WORD, (BLOCK_BYTES + DIGEST_WORDS * 4) * BITS);
  }

  #setWord(at: number, index: number, word: number): void {
    const from = at / 4 + index * LANES;
    this.#words.fill(word, from, from + LANES);
  }
}
