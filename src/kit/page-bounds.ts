/**
 * How large the pages of a source may be, and where they end. The meaning of `batch_size: 0` is
 * defined only here, and so is the rule: a page holds at least one record, and at most `records`.
 * Whoever knows the size of a record before it is added ends the page before it would become larger
 * than `bytes` (`fits`); whoever learns it by adding ends the page once it is that large (`isFull`).
 *
 * Two inner loops repeat the rule, because a call for each record would cost them speed: the CSV
 * kernel, which is WebAssembly (`fast/csv/csv-line-code.ts`), and the ranges of SQLite rows, whose
 * sizes are estimated from a sample (`fast/sqlite/row-ranges.ts`).
 */
export interface PageBounds {
  readonly records: number;
  readonly bytes: number;
}

/** `batch_size: 0` means one single page, whatever its size. */
export function pageBounds(batchSize: number, pageBytes: number): PageBounds {
  return batchSize === 0
    ? { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
    : { records: batchSize, bytes: pageBytes };
}

/** Whether a page with so many records and bytes is complete. */
export function isFull(bounds: PageBounds, records: number, bytes: number): boolean {
  return records > 0 && (records >= bounds.records || bytes >= bounds.bytes);
}

/** Whether a record of this size can join a page with so many records and bytes. */
export function fits(bounds: PageBounds, records: number, bytes: number, size: number): boolean {
  return records === 0 || (records < bounds.records && bytes + size <= bounds.bytes);
}

/** Counts the records and bytes of the current page. */
export class PageFill {
  count = 0;
  bytes = 0;
  readonly #bounds: PageBounds;

  constructor(bounds: PageBounds) {
    this.#bounds = bounds;
  }

  /** Counts a record of this size; false when it has to start the next page. */
  add(size: number): boolean {
    if (!fits(this.#bounds, this.count, this.bytes, size)) return false;
    this.count += 1;
    this.bytes += size;
    return true;
  }

  /** Counts a record that is in the page already. */
  added(size: number): void {
    this.count += 1;
    this.bytes += size;
  }

  get isFull(): boolean {
    return isFull(this.#bounds, this.count, this.bytes);
  }

  clear(): void {
    this.count = 0;
    this.bytes = 0;
  }
}
