/** Memory that is used again instead of being asked for anew; keeps as much as was in use at once. */
export class SpareBuffers {
  readonly #spare: ArrayBuffer[] = [];

  /** At least `size` bytes, with anything in them. */
  take(size: number): Buffer<ArrayBuffer> {
    const index = this.#spare.findIndex((buffer) => buffer.byteLength >= size);
    const [found] = index === -1 ? [] : this.#spare.splice(index, 1);
    return found === undefined ? Buffer.allocUnsafeSlow(size) : Buffer.from(found);
  }

  give(buffer: ArrayBuffer): void {
    this.#spare.push(buffer);
  }
}
