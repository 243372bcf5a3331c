/**
 * Finds where zstd frames end (RFC 8878 section 3.1). The runtime's decoder drops whatever follows
 * a frame in the same chunk and accepts a truncated frame as complete, so frames are separated
 * before it gets them and the end is checked here.
 */

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const SKIPPABLE_MASK = 0xfffffff0;

/** State of the parser: it collects `need` bytes of a header, or skips `pass` bytes of a body. */
type Step = 'magic' | 'skip_size' | 'descriptor' | 'header' | 'block_header' | 'checksum';

export class ZstdFrames {
  #step: Step = 'magic';
  #header: number[] = [];
  #need = 4;
  #pass = 0;
  #lastBlock = false;
  #checksum = false;

  /** Whether the bytes so far end with a complete frame, or there were none. */
  get complete(): boolean {
    return this.#step === 'magic' && this.#header.length === 0 && this.#pass === 0;
  }

  /**
   * How many bytes from `from` on belong to the current frame; throws when the bytes are not zstd.
   */
  advance(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length) {
      if (this.#pass > 0) {
        const step = Math.min(this.#pass, bytes.length - at);
        this.#pass -= step;
        at += step;
        if (this.#pass === 0 && this.#frameEnded()) break;
        continue;
      }
      this.#header.push(bytes[at] ?? 0);
      at += 1;
      if (this.#header.length === this.#need && this.#headerRead()) break;
    }
    return at - from;
  }

  /** Called at the end of a block or a skippable frame; true when the frame ends here. */
  #frameEnded(): boolean {
    if (this.#step === 'magic') return true;
    return this.#lastBlock ? this.#afterLastBlock() : false;
  }

  #afterLastBlock(): boolean {
    if (this.#checksum) {
      this.#expect('checksum', 4);
      return false;
    }
    this.#expect('magic', 4);
    return true;
  }

  /** Called when a header is complete; true when the frame ends here. */
  #headerRead(): boolean {
    const value = this.#header.reduceRight((sum, byte) => sum * 256 + byte, 0);
    switch (this.#step) {
      case 'magic':
        return this.#magic(value);
      case 'skip_size':
        this.#expect('magic', 4);
        this.#pass = value;
        return value === 0;
      case 'descriptor':
        this.#descriptor(value);
        return false;
      case 'header':
        this.#expect('block_header', 3);
        return false;
      case 'block_header':
        return this.#blockHeader(value);
      default:
        this.#expect('magic', 4);
        return true;
    }
  }

  #magic(value: number): boolean {
    if ((value & SKIPPABLE_MASK) >>> 0 === SKIPPABLE) this.#expect('skip_size', 4);
    else if (value === MAGIC) this.#expect('descriptor', 1);
    else throw new NotZstd();
    return false;
  }

  #descriptor(value: number): void {
    const singleSegment = (value & 0x20) !== 0;
    this.#checksum = (value & 0x04) !== 0;
    const dictionary = [0, 1, 2, 4][value & 3] ?? 0;
    const contentSize = [singleSegment ? 1 : 0, 2, 4, 8][value >> 6] ?? 0;
    const length = (singleSegment ? 0 : 1) + dictionary + contentSize;
    this.#expect('header', length);
  }

  #blockHeader(value: number): boolean {
    this.#lastBlock = (value & 1) === 1;
    const type = (value >> 1) & 3;
    if (type === 3) throw new NotZstd();
    const runLength = type === 1;
    this.#expect('block_header', 3);
    this.#pass = runLength ? 1 : value >> 3;
    if (this.#pass > 0) return false;
    return this.#lastBlock ? this.#afterLastBlock() : false;
  }

  #expect(step: Step, need: number): void {
    this.#step = step;
    this.#need = need;
    this.#header = [];
  }
}

export class NotZstd extends Error {
  readonly code = 'ZSTD_NOT_A_FRAME';
}

export class ZstdCutOff extends Error {
  readonly code = 'ZSTD_CUT_OFF';
}

/** The same bytes, cut so that no piece contains the end of a frame in its middle. */
export async function* alongFrames(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const frames = new ZstdFrames();
  for await (const block of blocks) {
    let at = 0;
    while (at < block.length) {
      const length = frames.advance(block, at);
      yield block.subarray(at, at + length);
      at += length;
    }
  }
  if (!frames.complete) throw new ZstdCutOff('the last frame is cut off');
}
