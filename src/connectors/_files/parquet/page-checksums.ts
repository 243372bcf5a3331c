/** Compares the pages of a column with the checksums in their headers, which writers may leave out. */
import { crc32 } from 'node:zlib';
import type { AsyncBuffer, ColumnMetaData } from 'hyparquet';
import { lazyLibrary } from '../../../lib/lazy.ts';

const library = lazyLibrary<typeof import('hyparquet/src/column.js')>('hyparquet/src/column.js');

/** Mostly enough for a header; one with bounds of long texts needs more. */
const HEADER_BYTES = 1024;
const LONGEST_HEADER = 1024 * 1024;

/**
 * The place of the first page whose bytes are not those that were written; `undefined` when there is
 * none, or the first page has no checksum. One page is in memory at a time.
 */
export async function damagedPage(
  file: AsyncBuffer,
  { dictionary_page_offset, data_page_offset, total_compressed_size }: ColumnMetaData,
): Promise<number | undefined> {
  const start = Number(dictionary_page_offset || data_page_offset);
  const end = Math.min(file.byteLength, start + Number(total_compressed_size));
  // Where a place or a header is wrong, the pages cannot be decoded either, which is told there.
  if (start < 0) return undefined;
  for (let at = start; at < end;) {
    const header = await headerAt(file, at, end);
    if (header?.crc === undefined) return undefined;
    const from = at + header.bytes;
    const to = from + header.pageBytes;
    if (to < from || to > end) return undefined;
    const page = new Uint8Array(await file.slice(from, to));
    if ((crc32(page) | 0) !== (header.crc | 0)) return at;
    at = to;
  }
  return undefined;
}

interface PageHeader {
  readonly bytes: number;
  readonly pageBytes: number;
  readonly crc: number | undefined;
}

async function headerAt(
  file: AsyncBuffer,
  at: number,
  end: number,
): Promise<PageHeader | undefined> {
  for (let size = HEADER_BYTES; size <= LONGEST_HEADER; size *= 32) {
    const bytes = await file.slice(at, Math.min(end, at + size));
    const reader = { view: new DataView(bytes), offset: 0 };
    try {
      const { crc, compressed_page_size: pageBytes } = library().parquetHeader(reader);
      return { bytes: reader.offset, pageBytes, crc };
    } catch (error) {
      if (!(error instanceof RangeError)) return undefined;
    }
  }
  return undefined;
}
