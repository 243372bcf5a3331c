/** Services that give the same pages again instead of an end. */
import { createHash } from 'node:crypto';

const REMEMBERED = 64;

/** Notices when the last few pages repeat, in bounded memory. */
export class LastFew {
  readonly #seen = new Set<string>();

  /** False when the text was among the last ones. */
  add(text: string): boolean {
    if (this.#seen.has(text)) return false;
    this.#seen.add(text);
    const [oldest] = this.#seen;
    if (this.#seen.size > REMEMBERED && oldest !== undefined) this.#seen.delete(oldest);
    return true;
  }
}

/** Tells of each body whether it is the one before. */
export function repeatsBefore(): (bytes: Uint8Array) => boolean {
  let before: string | undefined;
  return (bytes) => {
    const print = createHash('sha256').update(bytes).digest('hex');
    const same = print === before;
    before = print;
    return same;
  };
}
