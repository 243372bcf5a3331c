/** How large the pages of a source may be. The meaning of `batch_size: 0` is defined only here. */
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
