/** How large the pages of a source may get; what `batch_size: 0` means is decided only here. */
export interface PageBounds {
  readonly records: number;
  readonly bytes: number;
}

/** `batch_size: 0` asks for one single page, whatever its size. */
export function pageBounds(batchSize: number, pageBytes: number): PageBounds {
  return batchSize === 0
    ? { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
    : { records: batchSize, bytes: pageBytes };
}
