/**
 * The digest of a set of records, whatever their order: how many, and the sum and the exclusive or
 * of their fingerprints.
 */
import { hash } from 'node:crypto';

const WORDS = 4;

/** 128 bits of a record. */
export function fingerprint(text: string): string {
  return hash('sha256', text, 'hex').slice(0, WORDS * 8);
}

/** What is known of a range without its records. */
export interface RangeDigest {
  readonly rows: number;
  /** Equal for equal records. */
  readonly digest: string;
  /** Lowest and highest key; absent when no record has one. */
  readonly low?: bigint;
  readonly high?: bigint;
}

export const EMPTY_RANGE: RangeDigest = { rows: 0, digest: '' };

export class RecordDigest {
  #rows = 0;
  readonly #sum = new Int32Array(WORDS);
  readonly #xor = new Int32Array(WORDS);
  #low: bigint | undefined;
  #high: bigint | undefined;

  /** `key` is absent for a record that has none. */
  add(text: string, key: bigint | undefined): void {
    const print = hash('sha256', text, 'buffer');
    for (let word = 0; word < WORDS; word += 1) {
      const value = print.readInt32LE(word * 4);
      this.#sum[word] = ((this.#sum[word] ?? 0) + value) | 0;
      this.#xor[word] = (this.#xor[word] ?? 0) ^ value;
    }
    this.#rows += 1;
    if (key === undefined) return;
    if (this.#low === undefined || key < this.#low) this.#low = key;
    if (this.#high === undefined || key > this.#high) this.#high = key;
  }

  result(): RangeDigest {
    if (this.#rows === 0) return EMPTY_RANGE;
    const known = { rows: this.#rows, digest: `${this.#sum.join()}/${this.#xor.join()}` };
    return this.#low === undefined || this.#high === undefined
      ? known
      : { ...known, low: this.#low, high: this.#high };
  }
}

export function isSameContent(one: RangeDigest, other: RangeDigest): boolean {
  return one.rows === other.rows && one.digest === other.digest;
}
