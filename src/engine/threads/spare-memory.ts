/**
 * Blocks of memory that are used again, page after page: new ones would have to be filled with
 * zeroes first.
 */
export class SpareMemory {
  readonly #most: number;
  #blocks: ArrayBuffer[] = [];

  /** Keeps at most so many blocks. */
  constructor(most: number) {
    this.#most = most;
  }

  /** A block of at least `bytes` bytes with undefined content. */
  take(bytes: number): ArrayBuffer {
    const index = this.#blocks.findIndex(({ byteLength }) => byteLength >= bytes);
    const [found] = index === -1 ? [] : this.#blocks.splice(index, 1);
    return found ?? new ArrayBuffer(bytes);
  }

  /** Smaller ones make way: pages grow to their usual size. */
  give(block: ArrayBuffer): void {
    this.#blocks.push(block);
    if (this.#blocks.length <= this.#most) return;
    const least = this.#blocks.reduce((one, other) =>
      other.byteLength < one.byteLength ? other : one,
    );
    this.#blocks.splice(this.#blocks.indexOf(least), 1);
  }
}
