/**
 * The position of an incremental read: the last value of its column, and the records that were read
 * with that value. The next run reads from the value on and leaves those records out, so that records
 * that come later with the same value are not lost.
 */
import { hash } from 'node:crypto';
import { isObject, stringifyJson, type JsonValue } from '../lib/text/json.ts';

/**
 * Records of one value that a bookmark can hold. Beyond that it is the value alone, and the next run
 * reads what is behind it.
 */
export const MOST_SEEN = 1000;
const DIGEST_LENGTH = 16;

export interface StoredBookmark {
  readonly value: JsonValue;
  /** Digests of the records with this value that were read; absent when all of them count as read. */
  readonly seen?: readonly string[];
}

/** Bookmarks of earlier versions are the value alone. */
export function readBookmark(bookmark: JsonValue | undefined): StoredBookmark | undefined {
  if (bookmark === undefined) return undefined;
  if (!isObject(bookmark)) return { value: bookmark };
  const { value, seen } = bookmark;
  return value !== undefined && Array.isArray(seen) && seen.every((one) => typeof one === 'string')
    ? { value, seen }
    : { value: bookmark };
}

export function digestOfRecord(record: JsonValue): string {
  return hash('sha256', stringifyJson(record), 'base64url').slice(0, DIGEST_LENGTH);
}

/** Records that a run has seen; equal ones count as often as they are there. */
export class SeenRecords {
  readonly #left = new Map<string, number>();

  constructor(digests: readonly string[]) {
    for (const digest of digests) this.#left.set(digest, (this.#left.get(digest) ?? 0) + 1);
  }

  get size(): number {
    return this.#left.size;
  }

  /** Whether the record is one of them; it then counts no more. */
  take(record: JsonValue): boolean {
    const digest = digestOfRecord(record);
    const count = this.#left.get(digest);
    if (count === undefined) return false;
    if (count === 1) this.#left.delete(digest);
    else this.#left.set(digest, count - 1);
    return true;
  }
}
